package storage

import (
	"fmt"
	"sync/atomic"

	"go.etcd.io/etcd/server/v3/embed"
)

// etcdLaunch is the start of an etcd server. During the start, a fatal error or a panic in any
// goroutine of etcd becomes an error of the start. A panic after the start crashes the
// process, because the state of the server is unknown.
type etcdLaunch struct {
	done   atomic.Bool
	failed chan error
	fatal  func(error) // called with fatal errors after the start
}

func (l *etcdLaunch) isStarting() bool { return !l.done.Load() }

func (l *etcdLaunch) onFatal(err error) {
	if l.done.Load() {
		l.fatal(err)
		return
	}
	select {
	case l.failed <- err:
	default:
	}
}

func (l *etcdLaunch) onPanic(err error) {
	if l.done.Load() {
		panic(err)
	}
	l.onFatal(err)
}

// start starts etcd. If the start panics, goroutines of etcd are leaked.
func (l *etcdLaunch) start(cfg *embed.Config) (*embed.Etcd, error) {
	made := make(chan *embed.Etcd, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				l.onFatal(fmt.Errorf("%v", p))
			}
		}()
		server, err := embed.StartEtcd(cfg)
		if err != nil {
			l.onFatal(err)
			return
		}
		made <- server
	}()
	select {
	case server := <-made:
		return server, nil
	case err := <-l.failed:
		return nil, err
	}
}
