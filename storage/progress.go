package storage

import (
	"context"
	"sync"
	"sync/atomic"
)

// progress is a revision that grows, and those who wait for it.
type progress struct {
	rev     atomic.Int64
	mu      sync.Mutex
	waiters map[*waiter]struct{}
}

type waiter struct {
	rev  int64
	done chan struct{}
}

// current is the revision reached.
func (p *progress) current() int64 { return p.rev.Load() }

// advance says that rev is reached.
func (p *progress) advance(rev int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if rev <= p.rev.Load() {
		return
	}
	p.rev.Store(rev)
	for w := range p.waiters {
		if w.rev <= rev {
			close(w.done)
			delete(p.waiters, w)
		}
	}
}

// wait returns when rev is reached or, with an error, when ctx is done.
func (p *progress) wait(ctx context.Context, rev int64) error {
	if p.current() >= rev {
		return nil
	}
	w := &waiter{rev: rev, done: make(chan struct{})}
	p.mu.Lock()
	if p.rev.Load() >= rev {
		p.mu.Unlock()
		return nil
	}
	if p.waiters == nil {
		p.waiters = map[*waiter]struct{}{}
	}
	p.waiters[w] = struct{}{}
	p.mu.Unlock()
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		p.mu.Lock()
		delete(p.waiters, w)
		p.mu.Unlock()
		return context.Cause(ctx)
	}
}
