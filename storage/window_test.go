package storage

import (
	"testing"
	"time"
)

// TestOldStatesForgetEncodings checks that only items that lagging watchers may still send
// have cached encodings.
func TestOldStatesForgetEncodings(t *testing.T) {
	w := &changeWindow{span: time.Hour, limit: 1 << 40}
	k := &itemConfig{}
	encoded := func() *Item {
		i := &Item{config: k}
		i.encodings.Store(&itemEncoding{slot: jsonSlot, data: []byte("{}")})
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
		if kept := c.prev.CachedEncoding(jsonSlot) != nil; kept != (n >= changes-encodedChanges) {
			t.Fatalf("the item before change %d of %d has a cached encoding: %v", n, changes, kept)
		}
	}
	if last.CachedEncoding(jsonSlot) == nil {
		t.Error("the newest item has no cached encoding")
	}
}
