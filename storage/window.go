package storage

import (
	"sort"
	"sync/atomic"
	"time"
)

// transition is one change of one key: what watchers are told of.
type transition struct {
	rev int64
	// item is the new state or, when the key was deleted, the last one as of
	// the deletion; prev is the state before, or nil.
	item, prev *Item
	deleted    bool
	// gone is prev as of rev, for those for whom the change takes the item out
	// of the selection.
	gone atomic.Pointer[Item]
}

// left returns the previous state with the revision of the change.
func (t *transition) left() *Item {
	if t.deleted {
		return t.item
	}
	if i := t.gone.Load(); i != nil {
		return i
	}
	t.gone.CompareAndSwap(nil, t.prev.at(t.rev))
	return t.gone.Load()
}

// window holds the recent changes of a collection, from which watches start
// and recent states are made. It keeps all changes of the last span of time,
// but not more than a number of bytes.
type window struct {
	span  time.Duration
	limit int64

	changes []*transition // in the order of their revisions
	times   []time.Time   // when each came
	since   int64         // all changes after this revision are there
	bytes   int64
}

// reset empties the window: rev is where it begins.
func (w *window) reset(rev int64) {
	w.changes, w.times, w.bytes, w.since = nil, nil, 0, rev
}

// cost is about what a change holds in memory that nothing else does. The new
// state is in the tree or is the next change's previous one.
func (t *transition) cost() int64 {
	n := int64(96)
	if t.prev != nil {
		n += t.prev.size()
	}
	return n
}

// encodedChanges is for how many changes the states before them keep how they
// were encoded: watches that are behind by no more find it. Older ones are
// encoded again if somebody asks for them, which is seldom.
const encodedChanges = 1024

func (w *window) add(t *transition, now time.Time) {
	w.changes, w.times = append(w.changes, t), append(w.times, now)
	w.bytes += t.cost()
	if n := len(w.changes) - 1 - encodedChanges; n >= 0 && w.changes[n].prev != nil {
		w.changes[n].prev.forgetEncodings()
	}
}

// trim drops what is too old or too much.
func (w *window) trim(now time.Time) {
	n := 0
	for n < len(w.changes) && (w.bytes > w.limit || now.Sub(w.times[n]) > w.span) {
		w.bytes = max(0, w.bytes-w.changes[n].cost())
		w.since = w.changes[n].rev
		w.changes[n] = nil
		n++
	}
	if n > 0 {
		// Appending moves what is left when the array is used up, so the part
		// in front is given back without being moved here.
		w.changes, w.times = w.changes[n:], w.times[n:]
	}
	if len(w.changes) == 0 {
		w.changes, w.times, w.bytes = nil, nil, 0
	}
}

// after returns the changes after rev, which must not be below w.since.
func (w *window) after(rev int64) []*transition {
	n := sort.Search(len(w.changes), func(n int) bool { return w.changes[n].rev > rev })
	return append([]*transition(nil), w.changes[n:]...)
}

// extend puts changes in front, which are all those from rev to w.since.
func (w *window) extend(rev int64, older []*transition, now time.Time) {
	times := make([]time.Time, len(older), len(older)+len(w.times))
	for n, t := range older {
		times[n] = now
		w.bytes += t.cost()
	}
	w.changes = append(older[:len(older):len(older)], w.changes...)
	w.times = append(times, w.times...)
	w.since = rev
}
