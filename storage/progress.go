package storage

import (
	"context"
	"sync"
	"sync/atomic"
)

// revisionProgress is a growing revision with waiters.
type revisionProgress struct {
	rev     atomic.Int64 // the revision reached; only advance changes it
	mu      sync.Mutex
	waiters map[*revisionWaiter]struct{}
}

type revisionWaiter struct {
	rev  int64
	done chan struct{}
}

// advance raises the revision to rev and wakes the waiters for revisions up to it.
func (p *revisionProgress) advance(rev int64) {
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

// wait returns when the revision has reached rev or, with an error, when ctx is done.
func (p *revisionProgress) wait(ctx context.Context, rev int64) error {
	if p.rev.Load() >= rev {
		return nil
	}
	w := &revisionWaiter{rev: rev, done: make(chan struct{})}
	p.mu.Lock()
	if p.rev.Load() >= rev {
		p.mu.Unlock()
		return nil
	}
	if p.waiters == nil {
		p.waiters = map[*revisionWaiter]struct{}{}
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
