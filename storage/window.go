package storage

import (
	"sort"
	"sync/atomic"
	"time"
)

// transition is one change of one key, from which watchers make their events.
type transition struct {
	rev int64
	// item is the new item or, if the key was deleted, its last state with the revision of
	// the deletion. prev is the previous item, or nil.
	item, prev *Item
	deleted    bool
	// received is the time at which the change arrived from etcd, as a reading of package monotonic.
	received int64
	// prevAtRev is a copy of prev with the revision rev: the item of the Deleted event of a
	// watcher whose selection the item left.
	prevAtRev atomic.Pointer[Item]
}

// leavingItem returns the previous item with the revision of the change.
func (t *transition) leavingItem() *Item {
	if t.deleted {
		return t.item
	}
	if i := t.prevAtRev.Load(); i != nil {
		return i
	}
	t.prevAtRev.CompareAndSwap(nil, t.prev.atRevision(t.rev))
	return t.prevAtRev.Load()
}

// changeWindow holds the recent changes of a collection, from which watches start and recent
// states are reconstructed. It is limited by age and by memory.
type changeWindow struct {
	span  time.Duration // maximum age
	limit int64         // maximum memory in bytes

	changes []*transition // in the order of their revisions
	times   []time.Time   // when each change was added
	since   int64         // the window has all changes after this revision
	bytes   int64
}

// reset empties the window, which then starts after rev.
func (w *changeWindow) reset(rev int64) {
	w.changes, w.times, w.bytes, w.since = nil, nil, 0, rev
}

// cost estimates the memory that the change alone holds: the previous item with one or two
// encodings. The new item is also in the tree, or is prev of the next change.
func (t *transition) cost() int64 {
	n := int64(96)
	if t.prev != nil {
		n += 3*int64(len(t.prev.value)) + int64(len(t.prev.key)) + 128
	}
	return n
}

// encodedChanges is the number of recent changes whose previous items keep their cached
// encodings, for watchers that lag behind. Older ones are encoded again on demand, which is
// rare.
const encodedChanges = 1024

func (w *changeWindow) add(t *transition, now time.Time) {
	w.changes, w.times = append(w.changes, t), append(w.times, now)
	w.bytes += t.cost()
	if n := len(w.changes) - 1 - encodedChanges; n >= 0 && w.changes[n].prev != nil {
		w.changes[n].prev.dropEncodings()
	}
}

// trim drops the changes that exceed the maximum age or memory.
func (w *changeWindow) trim(now time.Time) {
	n := 0
	for n < len(w.changes) && (w.bytes > w.limit || now.Sub(w.times[n]) > w.span) {
		w.bytes = max(0, w.bytes-w.changes[n].cost())
		w.since = w.changes[n].rev
		w.changes[n] = nil
		n++
	}
	if n > 0 {
		// append copies the remaining changes to a new array when this one is full, which
		// frees the dropped part. Nothing is moved here.
		w.changes, w.times = w.changes[n:], w.times[n:]
	}
	if len(w.changes) == 0 {
		w.changes, w.times, w.bytes = nil, nil, 0
	}
}

// after returns the changes after rev, which must be at least w.since.
func (w *changeWindow) after(rev int64) []*transition {
	n := sort.Search(len(w.changes), func(n int) bool { return w.changes[n].rev > rev })
	return append([]*transition(nil), w.changes[n:]...)
}

// extend prepends older changes, which must be all changes after rev up to w.since.
func (w *changeWindow) extend(rev int64, older []*transition, now time.Time) {
	times := make([]time.Time, len(older), len(older)+len(w.times))
	for n, t := range older {
		times[n] = now
		w.bytes += t.cost()
	}
	w.changes = append(older[:len(older):len(older)], w.changes...)
	w.times = append(times, w.times...)
	w.since = rev
}
