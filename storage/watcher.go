package storage

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Watcher gives one reader the changes of what it selects. It is read either
// by Next or by Events, by one goroutine.
type Watcher struct {
	of      *Collection
	opts    WatchOptions
	after   int64 // no changes up to this revision, which the cache may not have reached yet
	indexed bool  // opts.Field is one of the collection's indexes
	unhook  func() bool
	most    int // length of the queue

	// Where the collection's fanout has it; guarded by Collection.mu.
	group *group
	place int

	mu     sync.Mutex
	queue  []*transition
	ended  bool
	reason error

	wake chan struct{} // holds one signal: there is something in the queue
	done chan struct{} // closed at the end

	// What follows belongs to the reader.
	initial  *state // still to be sent, from the key after from on
	from     string
	backlog  []*transition // from before the watch began, still to be sent
	end      bool          // the bookmark after the initial state is still to come
	rev      int64
	bookmark time.Time // when the next one is due
	timer    *time.Timer
	spare    []*transition
	out      []Event

	once   sync.Once
	events chan Event
}

const (
	bookmarkEvery  = time.Minute
	bookmarkBefore = 2 * time.Second // the deadline
	initialBatch   = 500
)

// newWatcher makes a watcher that has seen everything up to rev.
func newWatcher(c *Collection, o WatchOptions, rev int64) *Watcher {
	w := &Watcher{
		of: c, opts: o, after: rev, rev: rev, most: c.store.opts.WatchQueue,
		indexed: o.Field != "" && c.indexed(o.Field),
		wake:    make(chan struct{}, 1), done: make(chan struct{}),
		end: o.InitialEventsEnd,
	}
	if w.opts.BookmarkEvery <= 0 {
		w.opts.BookmarkEvery = bookmarkEvery
	}
	if o.Bookmarks {
		w.schedule(time.Now())
	}
	return w
}

// schedule says when the bookmark after now is due.
func (w *Watcher) schedule(now time.Time) {
	w.bookmark = now.Add(w.opts.BookmarkEvery)
	if last := w.opts.Deadline.Add(-bookmarkBefore); !w.opts.Deadline.IsZero() && now.Before(last) && w.bookmark.After(last) {
		w.bookmark = last
	}
}

// push queues a change and tells whether the watcher goes on.
func (w *Watcher) push(t *transition) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended && len(w.queue) >= w.most {
		w.finish(ErrSlow)
	}
	if w.ended {
		return false
	}
	w.queue = append(w.queue, t)
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return true
}

// finish ends the watcher; w.mu is held.
func (w *Watcher) finish(reason error) {
	if w.ended {
		return
	}
	w.ended, w.reason = true, reason
	w.queue = nil
	close(w.done)
}

// fail ends the watcher with a reason; nil is an end that was asked for.
func (w *Watcher) fail(reason error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.finish(reason)
}

// conclude ends the watcher because there are no more changes to come; those that are
// queued are still told.
func (w *Watcher) conclude(reason error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := w.queue
	w.finish(reason)
	w.queue = rest
}

// queued tells whether there is something in the queue.
func (w *Watcher) queued() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue) > 0
}

// Stop ends the watch.
func (w *Watcher) Stop() {
	w.fail(nil)
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	w.of.fanout.remove(w)
	w.unhook()
}

// Err tells why the watch ended: nil after Stop, the deadline or the end of its
// context, else ErrSlow, ErrClosed, a CompactedError, a CorruptListError or a
// CorruptDeletedError.
func (w *Watcher) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reason
}

// Next waits for the next events and returns them; they are valid until the
// next call. At the end of the watch it returns Err or, if that is nil, io.EOF.
func (w *Watcher) Next(ctx context.Context) ([]Event, error) {
	for {
		if events := w.ready(); len(events) > 0 {
			return events, nil
		}
		if w.initial != nil || len(w.backlog) > 0 || w.end {
			continue // a part of them without anything selected
		}
		if err := w.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// ready returns what can be sent now: a part of the initial state, a part of
// the backlog, what is queued or a bookmark.
func (w *Watcher) ready() []Event {
	w.out = w.out[:0]
	switch {
	case w.over():
	case w.initial != nil:
		w.sendInitial()
	case len(w.backlog) > 0:
		n := min(initialBatch, len(w.backlog))
		batch := w.backlog[:n]
		w.backlog = w.backlog[n:]
		w.send(batch)
	case w.end:
		w.end = false
		w.out = append(w.out, Event{Type: Bookmark, Revision: w.rev, End: true})
	default:
		// All that was applied is in the queue, so that a bookmark may say so
		// once the queue is empty.
		applied := w.of.store.applied.current()
		w.mu.Lock()
		batch := w.queue
		w.queue = w.spare[:0]
		w.mu.Unlock()
		if !w.send(batch) {
			return nil // and no bookmark may say that all was sent
		}
		clear(batch)
		w.spare = batch[:0]
		w.rev = max(w.rev, applied)
		w.sendBookmark()
	}
	return w.out
}

// Begun tells whether everything that the watch begins with, the state at its
// start or the changes before it, has been returned. It is for the reader.
func (w *Watcher) Begun() bool { return w.initial == nil && len(w.backlog) == 0 && !w.end }

// over tells whether the watch has ended, by its deadline among others.
func (w *Watcher) over() bool {
	if d := w.opts.Deadline; !d.IsZero() && !time.Now().Before(d) {
		w.fail(nil)
	}
	select {
	case <-w.done:
		if w.Begun() && w.queued() {
			return false
		}
		w.initial, w.backlog, w.end = nil, nil, false
		return true
	default:
		return false
	}
}

func (w *Watcher) sendInitial() {
	o := ListOptions{
		Prefix: w.opts.Prefix, Key: w.opts.Key, Field: w.opts.Field, Value: w.opts.Value,
		After: w.from, Limit: initialBatch, Filter: w.opts.Filter,
	}
	if w.opts.Prepare != nil {
		o.Filter = nil
	}
	page := w.initial.list(w.of.kind(), &o)
	if w.opts.Verify {
		if err := w.of.intact(w.initial, &o, page.Next); err != nil {
			w.abort(err)
			return
		}
	}
	if w.opts.Prepare != nil {
		page.Items = readable(page.Items)
	}
	if !w.prepare(page.Items) {
		return
	}
	for _, i := range page.Items {
		if i.spoilt() == nil && (o.Filter != nil || w.opts.Filter == nil || w.opts.Filter(i)) {
			w.out = append(w.out, Event{Type: Added, Item: i, Revision: i.rev})
		}
	}
	w.from = page.Next
	if page.Next == "" {
		w.initial = nil
	}
}

// prepare has the selection prepared, and tells whether the watch goes on.
func (w *Watcher) prepare(items []*Item) bool {
	if w.opts.Prepare == nil || len(items) == 0 {
		return true
	}
	err := w.opts.Prepare(items)
	if err != nil {
		w.abort(err)
	}
	return err == nil
}

// abort ends the watch with what was still to be sent.
func (w *Watcher) abort(err error) {
	w.initial, w.backlog, w.end = nil, nil, false
	w.fail(err)
}

// readable leaves out the items that cannot be decoded.
func readable(items []*Item) []*Item {
	if !slices.ContainsFunc(items, func(i *Item) bool { return i.Corrupt() != nil }) {
		return items
	}
	return slices.DeleteFunc(slices.Clone(items), func(i *Item) bool { return i.Corrupt() != nil })
}

// prepareAll has it prepared for both sides of changes.
func (w *Watcher) prepareAll(batch []*transition) bool {
	if w.opts.Prepare == nil {
		return true
	}
	var items []*Item
	for _, t := range batch {
		if t.rev <= w.after || !w.mayBe(t.item) {
			continue
		}
		if t.prev != nil {
			items = append(items, t.prev)
		}
		if !t.deleted {
			items = append(items, t.item)
		}
	}
	return w.prepare(readable(items))
}

// send adds the events for those changes that concern the selection, and tells
// whether the watch goes on.
func (w *Watcher) send(batch []*transition) bool {
	if !w.prepareAll(batch) {
		return false
	}
	for _, t := range batch {
		if t.rev <= w.after {
			continue
		}
		before := t.prev != nil && w.selects(t.prev)
		after := !t.deleted && w.selects(t.item)
		if t.deleted && t.prev != nil && w.mayBe(t.prev) {
			if corrupt := t.prev.spoilt(); corrupt != nil {
				w.abort(&CorruptDeletedError{corrupt})
				return true // the events before it are sent
			}
		}
		e := Event{Item: t.item, Revision: t.rev}
		switch {
		case before && after:
			e.Type = Modified
		case after:
			e.Type = Added
		case before && t.item.spoilt() != nil:
			continue // nobody knows whether it still belongs to the selection
		case before:
			e.Type, e.Item = Deleted, t.left()
		default:
			continue
		}
		w.out = append(w.out, e)
	}
	if len(batch) > 0 {
		w.rev = max(w.rev, batch[len(batch)-1].rev)
	}
	return true
}

// mayBe tells whether an item is among those that the selection is of.
func (w *Watcher) mayBe(i *Item) bool {
	return (w.opts.Key == "" || i.key == w.opts.Key) && strings.HasPrefix(i.key, w.opts.Prefix)
}

func (w *Watcher) selects(i *Item) bool {
	o := &w.opts
	if !w.mayBe(i) {
		return false
	}
	if o.Field != "" && i.Fields()[o.Field] != o.Value {
		return false
	}
	// A filter that looks at the object finds out whether there is one.
	return (o.Filter == nil || o.Filter(i)) && i.spoilt() == nil
}

// sendBookmark adds the bookmark if it is due.
func (w *Watcher) sendBookmark() {
	if w.bookmark.IsZero() {
		return
	}
	if now := time.Now(); !now.Before(w.bookmark) {
		w.out = append(w.out, Event{Type: Bookmark, Revision: w.rev})
		w.schedule(now)
	}
}

// wait returns when there may be something to send.
func (w *Watcher) wait(ctx context.Context) error {
	until := w.bookmark
	if d := w.opts.Deadline; !d.IsZero() && (until.IsZero() || d.Before(until)) {
		until = d
	}
	var tick <-chan time.Time
	if !until.IsZero() {
		if w.timer == nil {
			w.timer = time.NewTimer(time.Until(until))
		} else {
			w.timer.Reset(time.Until(until))
		}
		tick = w.timer.C
	}
	select {
	case <-w.wake:
	case <-tick:
	case <-w.done:
		if w.queued() {
			return nil
		}
		w.Stop() // leaves the fanout and the context
		if err := w.Err(); err != nil {
			return err
		}
		return io.EOF
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// Events returns a channel of the events, which is closed at the end of the
// watch; Err then says why. It is for those whom Next does not suit.
func (w *Watcher) Events() <-chan Event {
	w.once.Do(func() {
		w.events = make(chan Event)
		w.of.store.spawn(w.pump)
	})
	return w.events
}

func (w *Watcher) pump() {
	defer close(w.events)
	for {
		events, err := w.Next(w.of.store.ctx)
		if err != nil {
			return
		}
		for _, e := range events {
			select {
			case w.events <- e:
			case <-w.done:
				return
			}
		}
	}
}
