package storage

import (
	"slices"
	"sync"
)

// handoff lets a write and the watch that brings it back use the same Item,
// whichever of the two comes first, so that it is decoded and encoded once.
type handoff struct {
	mu   sync.Mutex
	keys map[string]*handed
}

// handed is what is known of a key while writes of it are under way, and until
// the watch has brought them.
type handed struct {
	writes []*write // under way
	items  []*Item  // made by one side and not yet taken by the other
	seen   int64    // the last revision that the watch brought
}

// begin announces a write of the key, which ends with finish.
func (h *handoff) begin(key string, w *write) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.keys == nil {
		h.keys = map[string]*handed{}
	}
	if h.keys[key] == nil {
		h.keys[key] = &handed{}
	}
	k := h.keys[key]
	k.writes = append(k.writes, w)
}

// finish ends a write and returns the item for the revision that it made; rev 0
// says that it made none.
func (h *handoff) finish(key string, w *write, rev int64, build func() *Item) (item *Item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.keys[key]
	if k == nil { // reset meanwhile
		if rev == 0 {
			return nil
		}
		return build()
	}
	k.writes = slices.DeleteFunc(k.writes, func(other *write) bool { return other == w })
	if rev != 0 {
		if item = k.find(rev); item == nil {
			item = build()
			if rev > k.seen {
				k.add(item)
			}
		}
	}
	h.forget(key, k)
	return item
}

// take returns the item for a change that the watch brought. build is given the
// writes that are under way, one of which may have made the change.
func (h *handoff) take(key string, rev int64, build func(underway []*write) *Item) *Item {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.keys[key]
	if k == nil {
		return build(nil)
	}
	k.seen = rev
	item := k.find(rev)
	if item == nil {
		item = build(k.writes)
		k.add(item)
	}
	h.forget(key, k)
	return item
}

// add keeps the item. A key that is written without a pause is never
// forgotten, so the oldest one goes when there are many; nothing but work is
// lost.
func (k *handed) add(item *Item) {
	const most = 16
	if len(k.items) == most {
		k.items = append(k.items[:0], k.items[1:]...)
	}
	k.items = append(k.items, item)
}

func (k *handed) find(rev int64) *Item {
	for _, i := range k.items {
		if i.rev == rev {
			return i
		}
	}
	return nil
}

// forget drops what nobody will ask for any more.
func (h *handoff) forget(key string, k *handed) {
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

// reset forgets everything: the watch will not bring what is outstanding.
func (h *handoff) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keys = nil
}
