package storage

import (
	"context"
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

// StartMember starts an etcd server that has listeners of its own, for a process that is
// etcd. It returns when the server has joined its cluster. A member that is alone becomes
// the leader at once.
func StartMember(ctx context.Context, cfg *embed.Config) (*embed.Etcd, error) {
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, err
	}
	e := &embeddedEtcd{etcd: etcd, server: etcd.Server}
	if len(e.server.Cluster().Members()) == 1 {
		err = e.becomeLeader(ctx)
	} else {
		err = waitForServer(ctx, e, e.server.ReadyNotify())
	}
	if err != nil {
		etcd.Close()
		return nil, fmt.Errorf("starting etcd in %s: %w", cfg.Dir, err)
	}
	return etcd, nil
}
