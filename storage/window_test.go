package storage

import (
	"testing"
	"time"
)

// TestOldStatesForgetEncodings: only what watches may still send is kept
// encoded.
func TestOldStatesForgetEncodings(t *testing.T) {
	w := &window{span: time.Hour, limit: 1 << 40}
	k := &kind{}
	encoded := func() *Item {
		i := &Item{of: k}
		i.encodings.Store(&encoding{slot: jsonSlot, data: []byte("{}")})
		return i
	}
	last := encoded()
	const changes = encodedChanges + 10
	for n := range changes {
		next := encoded()
		w.add(&transition{rev: int64(n), item: next, prev: last}, time.Now())
		last = next
	}
	for n, c := range w.changes {
		if kept := c.prev.find(jsonSlot) != nil; kept != (n >= changes-encodedChanges) {
			t.Fatalf("the state before change %d of %d is kept encoded: %v", n, changes, kept)
		}
	}
	if last.find(jsonSlot) == nil {
		t.Error("the newest state is not kept encoded")
	}
}
