package quota

import (
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
}

// failures is how many failed writes are remembered. If there are more, they are
// found when all quotas are counted again.
const failures = 1024

// NewLedger makes an empty one.
func NewLedger() *Ledger {
	return &Ledger{pending: map[string]map[*Charge]struct{}{}, failed: make(chan string, failures)}
}

// Begin notes a charge; it is called before the charge is added to a quota.
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
	if written {
		return
	}
	select {
	case l.failed <- namespace:
	default:
	}
}

// Pending are the charges of a namespace.
func (l *Ledger) Pending(namespace string) []*Charge {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*Charge, 0, len(l.pending[namespace]))
	for c := range l.pending[namespace] {
		out = append(out, c)
	}
	return out
}

// Failed gives the namespaces whose quotas have been charged for nothing.
func (l *Ledger) Failed() <-chan string { return l.failed }
