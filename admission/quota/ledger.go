package quota

import (
	"hash/maphash"
	"sync"
)

// Ledger has the charges of writes under way: a quota's status has them already,
// and the objects may not be stored yet. Who counts what is stored adds them, so
// that a count in the meantime takes nothing back from a write that was
// admitted. It is safe for concurrent use.
type Ledger struct {
	mu      sync.Mutex
	pending map[string]map[*Charge]struct{}
	// failed has the namespaces where something was charged for and not written.
	failed chan string

	// turns are mutexes of namespaces, several of which share one.
	seed  maphash.Seed
	turns [64]sync.Mutex
}

// failures is how many failed writes are remembered. If there are more, they are
// found when all quotas are counted again.
const failures = 1024

// NewLedger makes an empty one.
func NewLedger() *Ledger {
	return &Ledger{pending: map[string]map[*Charge]struct{}{}, failed: make(chan string, failures), seed: maphash.MakeSeed()}
}

// Hold keeps what quotas of a namespace have been charged and what is pending the
// same thing, until release is called: who charges holds it from before the
// quotas are written until all that was charged is noted; who counts, while it
// reads a quota and what is pending.
func (l *Ledger) Hold(namespace string) (release func()) {
	turn := &l.turns[maphash.String(l.seed, namespace)%uint64(len(l.turns))]
	turn.Lock()
	return turn.Unlock
}

// Begin notes a charge that was added to quotas. The namespace is held.
func (l *Ledger) Begin(namespace string, c *Charge) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending[namespace] == nil {
		l.pending[namespace] = map[*Charge]struct{}{}
	}
	l.pending[namespace][c] = struct{}{}
}

// End forgets a charge, when its object is stored or never will be.
func (l *Ledger) End(namespace string, c *Charge, written bool) {
	l.mu.Lock()
	delete(l.pending[namespace], c)
	if len(l.pending[namespace]) == 0 {
		delete(l.pending, namespace)
	}
	l.mu.Unlock()
	if !written {
		l.Recount(namespace)
	}
}

// Recount asks for the quotas of a namespace to be counted again.
func (l *Ledger) Recount(namespace string) {
	select {
	case l.failed <- namespace:
	default:
	}
}

// Pending are the charges of a namespace, which is held.
func (l *Ledger) Pending(namespace string) []*Charge {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*Charge, 0, len(l.pending[namespace]))
	for c := range l.pending[namespace] {
		out = append(out, c)
	}
	return out
}

// Failed gives the namespaces whose quotas must be counted again, since they
// have been charged for nothing.
func (l *Ledger) Failed() <-chan string { return l.failed }
