package storage

import (
	"slices"
	"sync"
)

// handoff makes a write and its watch event share one Item, whichever of the two comes
// first, so that the value is decoded and encoded once.
type handoff struct {
	mu   sync.Mutex
	keys map[string]*handoffKey
}

// handoffKey is the state of a key while writes of it are in flight, and until the watch has
// delivered their events.
type handoffKey struct {
	writes []*keyWrite // in flight
	items  []*Item     // created by one side and not yet taken by the other
	seen   int64       // the last revision that the watch delivered
}

// begin registers a write of the key. Every begin needs a finish.
func (h *handoff) begin(key string, w *keyWrite) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.keys == nil {
		h.keys = map[string]*handoffKey{}
	}
	if h.keys[key] == nil {
		h.keys[key] = &handoffKey{}
	}
	k := h.keys[key]
	k.writes = append(k.writes, w)
}

// finish ends a write and returns the item of the revision that it created; rev 0 means that
// it failed.
func (h *handoff) finish(key string, w *keyWrite, rev int64, build func() *Item) (item *Item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.keys[key]
	if k == nil { // reset was called
		if rev == 0 {
			return nil
		}
		return build()
	}
	k.writes = slices.DeleteFunc(k.writes, func(other *keyWrite) bool { return other == w })
	if rev != 0 {
		item = k.share(rev, build)
	}
	h.forget(key, k)
	return item
}

// take returns the item of a watch event. build gets the writes in flight, one of which may
// have caused the event.
func (h *handoff) take(key string, rev int64, build func(underway []*keyWrite) *Item) *Item {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.keys[key]
	if k == nil {
		return build(nil)
	}
	item := k.share(rev, func() *Item { return build(k.writes) })
	k.seen = rev
	h.forget(key, k)
	return item
}

// share returns the item of the revision that the other side built, or builds it and holds it
// for the other side, unless the watch has delivered the revision already. It drops the oldest
// item if there are many, which happens to a key that is written continuously and costs only
// another decoding.
func (k *handoffKey) share(rev int64, build func() *Item) *Item {
	for _, i := range k.items {
		if i.rev == rev {
			return i
		}
	}
	item := build()
	if rev <= k.seen {
		return item
	}
	const maxItems = 16
	if len(k.items) == maxItems {
		k.items = append(k.items[:0], k.items[1:]...)
	}
	k.items = append(k.items, item)
	return item
}

// forget drops the state of a key that has no writes in flight and no undelivered events.
func (h *handoff) forget(key string, k *handoffKey) {
	if len(k.writes) > 0 {
		return
	}
	for _, i := range k.items {
		if i.rev > k.seen {
			return
		}
	}
	delete(h.keys, key)
}

// reset drops everything, because the watch was restarted and will not deliver the
// outstanding events.
func (h *handoff) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keys = nil
}
