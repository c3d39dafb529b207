package admission

import (
	"sync"

	"github.com/miniapiserver/miniapiserver/admission/quota"
)

// waiter is a write that waits for its charge to be added to quotas.
type waiter struct {
	charge *quota.Charge
	// quotas are the names of those that it is added to.
	quotas []string
	// err says why a quota refuses it, failure why a quota could not be written.
	err, failure error
	// decided is closed when one of these is known, or it is this waiter's turn
	// to decide about those that came meanwhile: leads.
	decided chan struct{}
	leads   bool
}

func (w *waiter) refused() bool { return w.err != nil || w.failure != nil }

// turns has writes of one namespace charged together: the first goes on at once,
// and what comes while a quota is being written waits and is charged with the
// next write, so that many writes cost the quota few. Its zero value with a map
// is ready.
type turns struct {
	mu   sync.Mutex
	busy map[string]*turn
}

// turn has those who wait while a namespace is busy.
type turn struct{ waiting []*waiter }

// take returns when w is decided. settle decides about several at a time.
func (t *turns) take(namespace string, w *waiter, settle func([]*waiter)) {
	t.mu.Lock()
	now, busy := t.busy[namespace]
	if busy {
		now.waiting = append(now.waiting, w)
		t.mu.Unlock()
		if <-w.decided; !w.leads {
			return
		}
		t.mu.Lock()
	} else {
		now = &turn{waiting: []*waiter{w}}
		t.busy[namespace] = now
	}
	all := now.waiting
	now.waiting = nil
	t.mu.Unlock()
	defer func() {
		for _, other := range all {
			if other != w {
				close(other.decided)
			}
		}
		t.pass(namespace, now)
	}()
	settle(all)
}

// pass lets the next one lead, if there is one.
func (t *turns) pass(namespace string, now *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(now.waiting) == 0 {
		delete(t.busy, namespace)
		return
	}
	next := now.waiting[0]
	next.leads = true
	close(next.decided)
}
