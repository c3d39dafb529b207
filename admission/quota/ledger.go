package quota

import (
	"hash/maphash"
	"sync"
)

// Ledger holds the charges of writes in progress: they are part of a quota's status although the
// objects may not be stored yet. The controller that counts stored objects adds them, so that its
// count does not revoke the charge of an admitted write. It is safe for concurrent use.
type Ledger struct {
	mu      sync.Mutex
	pending map[string]map[*Charge]struct{}
	// failed receives namespaces with a charge whose object was not written.
	failed chan string

	// locks are shared by namespaces with the same hash.
	locks [64]sync.Mutex
	seed  maphash.Seed
}

// maxFailures is the capacity of the queue of failed writes. Further failures are corrected by the
// periodic recount of all quotas.
const maxFailures = 1024

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{pending: map[string]map[*Charge]struct{}{}, failed: make(chan string, maxFailures), seed: maphash.MakeSeed()}
}

// Hold locks a namespace until release is called, so that the status of its quotas and the pending
// charges are consistent. A writer holds it from before it updates quotas until the charges are
// recorded; the controller holds it while it reads a quota and the pending charges.
func (l *Ledger) Hold(namespace string) (release func()) {
	lock := &l.locks[maphash.String(l.seed, namespace)%uint64(len(l.locks))]
	lock.Lock()
	return lock.Unlock
}

// Begin records a charge that was added to quotas. The caller holds the namespace.
func (l *Ledger) Begin(namespace string, c *Charge) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending[namespace] == nil {
		l.pending[namespace] = map[*Charge]struct{}{}
	}
	l.pending[namespace][c] = struct{}{}
}

// End removes a charge after the write has succeeded or failed.
func (l *Ledger) End(namespace string, c *Charge, written bool) {
	l.mu.Lock()
	delete(l.pending[namespace], c)
	if len(l.pending[namespace]) == 0 {
		delete(l.pending, namespace)
	}
	l.mu.Unlock()
	if !written {
		l.recount(namespace)
	}
}

// recount requests a recount of the quotas of a namespace.
func (l *Ledger) recount(namespace string) {
	select {
	case l.failed <- namespace:
	default:
	}
}

// Pending returns the charges of a namespace. The caller holds the namespace.
func (l *Ledger) Pending(namespace string) []*Charge {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*Charge, 0, len(l.pending[namespace]))
	for c := range l.pending[namespace] {
		out = append(out, c)
	}
	return out
}

// Failed returns the channel of namespaces whose quotas must be recounted.
func (l *Ledger) Failed() <-chan string { return l.failed }
