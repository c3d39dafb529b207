package storage

import (
	"fmt"
	"sync/atomic"

	"go.etcd.io/etcd/server/v3/embed"
)

// launch is the start of an etcd server. While it lasts, what etcd gives up
// with (a panic in any of its goroutines, or the end of the process) is an
// error of the start. A panic later on is one: nobody could tell what state
// the server is in.
type launch struct {
	over   atomic.Bool
	failed chan error
	fatal  func(error) // told of what ends the process later on
}

func (l *launch) onFatal(err error) {
	if l.over.Load() {
		l.fatal(err)
		return
	}
	select {
	case l.failed <- err:
	default:
	}
}

func (l *launch) onPanic(err error) {
	if l.over.Load() {
		panic(err)
	}
	l.onFatal(err)
}

// server makes and starts the server. If that fails by a panic, goroutines of it stay
// behind.
func (l *launch) server(cfg *embed.Config) (*embed.Etcd, error) {
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
