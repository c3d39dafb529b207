package quota

import "sync"

// queuedCharge is a write whose charge is to be added to quotas.
type queuedCharge struct {
	charge *Charge
	// quotas are the names of the quotas to be charged.
	quotas []string
	// err is the rejection by a quota, failure the error of updating a quota.
	err, failure error
	// decided is closed when the write has been charged or rejected, or when it becomes the leader
	// that charges all queued writes.
	decided chan struct{}
	leads   bool
}

func (w *queuedCharge) refused() bool { return w.err != nil || w.failure != nil }

// chargeQueue batches the charges of each namespace: while a quota is being updated, further writes
// queue up and are charged together by the next update, so that many writes cause few updates.
type chargeQueue struct {
	mu   sync.Mutex
	busy map[string]*namespaceQueue
}

// namespaceQueue holds the writes that wait while a namespace is being charged.
type namespaceQueue struct{ waiting []*queuedCharge }

// charge returns when w is charged or rejected. chargeAll charges several writes at once.
func (t *chargeQueue) charge(namespace string, w *queuedCharge, chargeAll func([]*queuedCharge)) {
	t.mu.Lock()
	queue, busy := t.busy[namespace]
	if busy {
		queue.waiting = append(queue.waiting, w)
		t.mu.Unlock()
		if <-w.decided; !w.leads {
			return
		}
		t.mu.Lock()
	} else {
		queue = &namespaceQueue{waiting: []*queuedCharge{w}}
		t.busy[namespace] = queue
	}
	all := queue.waiting
	queue.waiting = nil
	t.mu.Unlock()
	defer func() {
		for _, other := range all {
			if other != w {
				close(other.decided)
			}
		}
		t.promote(namespace, queue)
	}()
	chargeAll(all)
}

// promote makes the first queued write the leader.
func (t *chargeQueue) promote(namespace string, queue *namespaceQueue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(queue.waiting) == 0 {
		delete(t.busy, namespace)
		return
	}
	next := queue.waiting[0]
	next.leads = true
	close(next.decided)
}
