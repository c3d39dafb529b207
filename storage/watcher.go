package storage

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/monotonic"
)

// Watcher delivers the changes of its selection to one reader, a single goroutine that calls
// either Next or Events.
type Watcher struct {
	collection *Collection
	opts       WatchOptions
	after      int64       // events up to this revision are skipped; the cache may not have reached it yet
	indexed    bool        // opts.Field has an index
	unhook     func() bool // releases the context.AfterFunc
	queueLimit int         // maximum length of the queue

	// Position in the collection's fanout; guarded by Collection.mu.
	group      *watcherGroup
	groupIndex int

	// view is the late view in which the reader sees the collection; nil if it sees it as it is.
	view atomic.Pointer[View]

	mu     sync.Mutex
	queue  []*transition
	ended  bool
	reason error
	later  *time.Timer // signals when the view has the next change of the queue; nil before the first one

	wake chan struct{} // holds one signal: the queue is not empty; nil with opts.Ready
	done chan struct{} // closed at the end

	// The fields below belong to the reader.
	initial      *collectionState // the state to send, from the key after initialAfter on; nil when sent
	initialAfter string
	backlog      []*transition // the changes to send from before the start of the watch
	endPending   bool          // the bookmark after the initial state was not sent yet
	rev          int64
	bookmark     time.Time // when the next periodic bookmark is due
	timer        *time.Timer
	spare        []*transition
	out          []Event

	once   sync.Once
	events chan Event
}

const (
	bookmarkEvery  = time.Minute
	bookmarkBefore = 2 * time.Second // before the deadline
	initialBatch   = 500
)

// schedule sets the time of the next bookmark after now.
func (w *Watcher) schedule(now time.Time) {
	w.bookmark = now.Add(w.opts.BookmarkEvery)
	if last := w.opts.Deadline.Add(-bookmarkBefore); !w.opts.Deadline.IsZero() && now.Before(last) && w.bookmark.After(last) {
		w.bookmark = last
	}
}

// push queues a change and reports whether the watcher still runs. It ends a watcher whose
// queue is full.
func (w *Watcher) push(t *transition) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended && len(w.queue) >= w.queueLimit && (len(w.queue) >= lateQueue || w.lateView() == nil) {
		w.finishLocked(ErrSlow)
		w.collection.metrics.store.terminated.WithLabelValues(w.collection.metrics.group, w.collection.metrics.resource).Inc()
	}
	if w.ended {
		return false
	}
	w.queue = append(w.queue, t)
	w.signalLocked()
	return true
}

// signalLocked has the reader look at the queue; the caller holds w.mu.
func (w *Watcher) signalLocked() {
	if w.opts.Ready != nil {
		w.opts.Ready()
		return
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// finishLocked ends the watcher; the caller holds w.mu.
func (w *Watcher) finishLocked(reason error) {
	if w.ended {
		return
	}
	w.ended, w.reason = true, reason
	w.queue = nil
	if w.later != nil {
		w.later.Stop()
	}
	close(w.done)
	if w.opts.Ready != nil {
		w.opts.Ready()
	}
}

// fail ends the watcher and drops its queue. reason is nil if the reader asked for the end.
func (w *Watcher) fail(reason error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.finishLocked(reason)
}

// conclude ends the watcher because no more changes will come. The reader still receives the
// queued ones.
func (w *Watcher) conclude(reason error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := w.queue
	w.finishLocked(reason)
	w.queue = rest
}

// queued reports whether the queue has changes.
func (w *Watcher) queued() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue) > 0
}

// Stop ends the watch.
func (w *Watcher) Stop() {
	w.fail(nil)
	w.collection.mu.Lock()
	defer w.collection.mu.Unlock()
	w.collection.fanout.remove(w)
	w.unhook()
}

// Err returns why the watch ended: nil after Stop, at the deadline or at the end of its
// context, else ErrSlow, ErrClosed, ErrRemoved, a CompactedError, a CorruptListError or a
// CorruptDeletedError.
func (w *Watcher) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reason
}

// Next waits for events and returns them; they are valid until the next call. At the end of
// the watch it returns Err or, if that is nil, io.EOF.
func (w *Watcher) Next(ctx context.Context) ([]Event, error) {
	for {
		if events := w.ready(); len(events) > 0 {
			return events, nil
		}
		if w.initial != nil || len(w.backlog) > 0 || w.endPending {
			continue // no item of this part was selected
		}
		if err := w.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// Poll is Next without waiting: it returns no events if there are none now. It is for a reader that Ready tells when
// there are, and sends no bookmarks and ends at no deadline by itself.
func (w *Watcher) Poll() ([]Event, error) {
	for {
		if events := w.ready(); len(events) > 0 {
			return events, nil
		}
		if !w.InitialSent() {
			continue // no item of this part was selected
		}
		select {
		case <-w.done:
		default:
			return nil, nil
		}
		if w.queued() {
			continue
		}
		return nil, w.ending()
	}
}

// ending releases an ended watch, and returns why it ended.
func (w *Watcher) ending() error {
	w.Stop() // removes it from the fanout and releases the context
	if err := w.Err(); err != nil {
		return err
	}
	return io.EOF
}

// ready returns the next events without waiting: a part of the initial state, a part of the
// backlog, the queued changes or a bookmark.
func (w *Watcher) ready() []Event {
	w.out = w.out[:0]
	switch {
	case w.hasEnded():
	case w.initial != nil:
		w.sendInitial()
	case len(w.backlog) > 0:
		n := min(initialBatch, len(w.backlog))
		batch := w.backlog[:n]
		w.backlog = w.backlog[n:]
		w.send(batch, false)
	case w.endPending:
		w.endPending = false
		w.out = append(w.out, Event{Type: Bookmark, Revision: w.rev, End: true})
	default:
		// The applied revision is loaded before the queue is taken: every change up to it is
		// queued then, so a bookmark may carry it once the queue is sent.
		applied := w.collection.store.applied.rev.Load()
		batch, applied := w.take(applied)
		if !w.send(batch, true) {
			return nil // and send no bookmark
		}
		clear(batch)
		w.spare = batch[:0]
		w.rev = max(w.rev, applied)
		w.sendBookmark()
	}
	return w.out
}

// InitialSent reports whether Next has returned all initial events: the state at the start of
// the watch or the changes before it. Only the reader may call it.
func (w *Watcher) InitialSent() bool { return w.initial == nil && len(w.backlog) == 0 && !w.endPending }

// hasEnded reports whether the watch has ended; it also ends the watch at its deadline.
func (w *Watcher) hasEnded() bool {
	if d := w.opts.Deadline; !d.IsZero() && !time.Now().Before(d) {
		w.fail(nil)
	}
	select {
	case <-w.done:
		if w.InitialSent() && w.queued() {
			return false
		}
		w.initial, w.backlog, w.endPending = nil, nil, false
		return true
	default:
		return false
	}
}

func (w *Watcher) sendInitial() {
	o := ListOptions{
		Prefix: w.opts.Prefix, Key: w.opts.Key, Field: w.opts.Field, Value: w.opts.Value,
		After: w.initialAfter, Limit: initialBatch, Filter: w.opts.Filter,
	}
	if w.opts.Prepare != nil {
		o.Filter = nil
	}
	page := w.initial.list(w.collection.config(), &o)
	if w.opts.Verify {
		if err := w.collection.checkDecodable(w.initial, &o, page.Next); err != nil {
			w.abort(err)
			return
		}
	}
	if w.opts.Prepare != nil {
		page.Items = decodableItems(page.Items)
	}
	if !w.prepare(page.Items) {
		return
	}
	for _, i := range page.Items {
		if i.knownCorrupt() == nil && (o.Filter != nil || w.opts.Filter == nil || w.opts.Filter(i)) {
			w.out = append(w.out, Event{Type: Added, Item: i, Revision: i.rev})
		}
	}
	if len(w.out) > 0 {
		w.collection.metrics.events().initial.Add(float64(len(w.out)))
	}
	w.initialAfter = page.Next
	if page.Next == "" {
		w.initial = nil
	}
}

// prepare calls the Prepare option and reports whether the watch goes on.
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

// abort ends the watch and drops all unsent events.
func (w *Watcher) abort(err error) {
	w.initial, w.backlog, w.endPending = nil, nil, false
	w.fail(err)
}

// decodableItems returns the items whose values can be decoded.
func decodableItems(items []*Item) []*Item {
	if !slices.ContainsFunc(items, func(i *Item) bool { return i.Corrupt() != nil }) {
		return items
	}
	return slices.DeleteFunc(slices.Clone(items), func(i *Item) bool { return i.Corrupt() != nil })
}

// prepareAll calls prepare with the items before and after the changes.
func (w *Watcher) prepareAll(batch []*transition) bool {
	if w.opts.Prepare == nil {
		return true
	}
	var items []*Item
	for _, t := range batch {
		if t.rev <= w.after || !w.inScope(t.item) {
			continue
		}
		if t.prev != nil {
			items = append(items, t.prev)
		}
		if !t.deleted {
			items = append(items, t.item)
		}
	}
	return w.prepare(decodableItems(items))
}

// send appends the events of the changes that concern the selection, and reports whether the
// watch goes on. For live changes, those since the start of the watch, it observes the time since their arrival.
func (w *Watcher) send(batch []*transition, live bool) bool {
	if !w.prepareAll(batch) {
		return false
	}
	var now int64
	if live && len(batch) > 0 {
		now = monotonic.Now()
	}
	for _, t := range batch {
		if t.rev <= w.after {
			continue
		}
		before := t.prev != nil && w.selects(t.prev)
		after := !t.deleted && w.selects(t.item)
		if t.deleted && t.prev != nil && w.inScope(t.prev) {
			if corrupt := t.prev.knownCorrupt(); corrupt != nil {
				w.abort(&CorruptDeletedError{corrupt})
				return true // the events before it are delivered
			}
		}
		e := Event{Item: t.item, Revision: t.rev}
		switch {
		case before && after:
			e.Type, e.Previous = Modified, t.prev
		case after:
			e.Type = Added
		case before && t.item.knownCorrupt() != nil:
			continue // whether it still matches the selection is unknown
		case before:
			e.Type, e.Item = Deleted, t.leavingItem()
		default:
			continue
		}
		live := live && t.received > 0 // not one from etcd's history, in the queue of a late watcher
		if live {
			e.Received = t.received
		}
		w.out = append(w.out, e)
		if live {
			w.collection.metrics.dispatch().Observe(float64(now-t.received) / 1e9)
		}
	}
	if len(batch) > 0 {
		w.rev = max(w.rev, batch[len(batch)-1].rev)
	}
	return true
}

// inScope reports whether the item's key is in the selection.
func (w *Watcher) inScope(i *Item) bool {
	return (w.opts.Key == "" || i.key == w.opts.Key) && strings.HasPrefix(i.key, w.opts.Prefix)
}

func (w *Watcher) selects(i *Item) bool {
	o := &w.opts
	if !w.inScope(i) {
		return false
	}
	if o.Field != "" && i.Field(o.Field) != o.Value {
		return false
	}
	// A filter that needs the object decodes it, so the check for corruption comes last.
	return (o.Filter == nil || o.Filter(i)) && i.knownCorrupt() == nil
}

// sendBookmark appends a bookmark if one is due.
func (w *Watcher) sendBookmark() {
	if w.bookmark.IsZero() {
		return
	}
	if now := time.Now(); !now.Before(w.bookmark) {
		w.out = append(w.out, Event{Type: Bookmark, Revision: w.rev})
		w.schedule(now)
	}
}

// wait waits until ready may have events. It returns an error at the end of the watch or of
// ctx.
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
		return w.ending()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// Events returns a channel of the events, which is closed at the end of the watch; see Err
// for the reason. It is an alternative to Next.
func (w *Watcher) Events() <-chan Event {
	w.once.Do(func() {
		w.events = make(chan Event)
		w.collection.store.spawn(w.pump)
	})
	return w.events
}

func (w *Watcher) pump() {
	defer close(w.events)
	for {
		events, err := w.Next(w.collection.store.ctx)
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
