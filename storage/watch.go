package storage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Watch starts a watch. It ends when ctx is done, at the deadline or by Stop. Watch returns
// a CompactedError if some changes after o.Revision are no longer available.
func (c *Collection) Watch(ctx context.Context, o WatchOptions) (*Watcher, error) {
	if o.Prefix != "" && strings.IndexByte(o.Prefix, '/') != len(o.Prefix)-1 {
		return nil, fmt.Errorf("storage: cannot watch the prefix %q, it must be one name and a slash", o.Prefix)
	}
	if o.Revision > 0 {
		return c.watchFrom(ctx, &o)
	}
	if o.Followed && o.Read.Match == Any {
		o.Read.Match = Followed
	}
	if v := c.viewOf(Read{Match: o.Read.Match, Revision: o.Read.Revision, View: o.View}); v != nil {
		return c.watchLate(ctx, v, &o)
	}
	if err := c.waitFresh(ctx, o.Read); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// The applied revision is loaded before the state, as in latest; the lock is held, so no
	// change comes between the two.
	rev := c.store.applied.rev.Load()
	if err := c.watchable(); err != nil {
		return nil, err
	}
	w := newWatcher(c, o, max(rev, c.working.rev))
	if o.Initial {
		w.initial = c.current.Load()
	}
	c.startWatch(ctx, w)
	return w, nil
}

// watchFrom starts a watch with the changes after o.Revision. Changes from before the window
// are read from etcd's history and added to the window, so that other watches from about the
// same revision share them.
func (c *Collection) watchFrom(ctx context.Context, o *WatchOptions) (*Watcher, error) {
	if oldest := max(c.oldestWatch, c.store.oldestWatch.Load()); o.Revision < oldest {
		return nil, &CompactedError{Wanted: o.Revision, Compacted: oldest}
	}
	if w, _, err := c.tryWatch(ctx, o, o.Revision, nil); w != nil || err != nil {
		return w, err
	}
	c.historyMu.Lock()
	defer c.historyMu.Unlock()
	var older []*transition
	for from := o.Revision; ; {
		w, since, err := c.tryWatch(ctx, o, from, older)
		if w != nil || err != nil {
			return w, err
		}
		if c.store.local != nil {
			return nil, c.errNoPast(o.Revision)
		}
		more, err := c.readHistory(ctx, from, since)
		if err != nil {
			return nil, err
		}
		older, from = append(older, more...), since
	}
}

// tryWatch starts the watch if the window reaches back to o.Revision, extended by older,
// which are the changes after o.Revision up to from. Otherwise it returns the revision after
// which the window begins.
func (c *Collection) tryWatch(ctx context.Context, o *WatchOptions, from int64, older []*transition) (*Watcher, int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.watchable(); err != nil {
		return nil, 0, err
	}
	since := c.window.since
	if from < since {
		return nil, since, nil
	}
	if from == since && from > o.Revision {
		c.window.extend(o.Revision, older, c.store.opts.Now())
	}
	w := newWatcher(c, *o, o.Revision)
	if w.lateView() != nil {
		w.queue = c.window.after(o.Revision)
	} else {
		w.backlog = c.window.after(o.Revision)
	}
	c.startWatch(ctx, w)
	return w, since, nil
}

// newWatcher returns a watcher that starts after rev.
func newWatcher(c *Collection, o WatchOptions, rev int64) *Watcher {
	w := &Watcher{
		collection: c, opts: o, after: rev, rev: rev, queueLimit: c.store.opts.WatchQueue,
		indexed: o.Field != "" && c.indexed(o.Field),
		wake:    make(chan struct{}, 1), done: make(chan struct{}),
		endPending: o.InitialEventsEnd,
	}
	if w.opts.BookmarkEvery <= 0 {
		w.opts.BookmarkEvery = bookmarkEvery
	}
	w.view.Store(o.View)
	if o.Bookmarks {
		w.schedule(time.Now())
	}
	return w
}

// watchable returns an error if the collection cannot be watched; the caller holds c.mu.
func (c *Collection) watchable() error {
	switch {
	case c.ended != nil:
		return c.ended
	case c.working == nil:
		return c.notLoaded()
	}
	return nil
}

// startWatch has w receive all changes that are applied from now on; the caller holds c.mu.
func (c *Collection) startWatch(ctx context.Context, w *Watcher) {
	c.fanout.add(w)
	w.unhook = context.AfterFunc(ctx, w.Stop)
}

// endWatches ends all watches with err and makes later ones fail with it.
func (c *Collection) endWatches(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = err
	c.fanout.end(err)
}

// readHistory reads the changes after rev, up to and including end, from etcd.
func (c *Collection) readHistory(ctx context.Context, rev, end int64) ([]*transition, error) {
	h := historyReader{collection: c, last: map[string]*Item{}}
	if err := c.store.eventsBetween(ctx, c.prefix, rev, end, h.add, clientv3.WithPrefix(), clientv3.WithPrevKV()); err != nil {
		return nil, err
	}
	return h.changes, nil
}

// historyReader converts etcd events to transitions.
type historyReader struct {
	collection *Collection
	last       map[string]*Item // of each key
	changes    []*transition
}

func (h *historyReader) add(e *clientv3.Event) {
	key := strings.TrimPrefix(string(e.Kv.Key), h.collection.prefix)
	rev := e.Kv.ModRevision
	prev := h.last[key]
	if prev == nil && e.PrevKv != nil {
		prev = h.collection.item(key, (*mvccpb.KeyValue)(e.PrevKv))
	}
	t := &transition{rev: rev, prev: prev}
	if e.Type == clientv3.EventTypeDelete {
		delete(h.last, key)
		if prev == nil {
			return
		}
		t.item, t.deleted = prev.atRevision(rev), true
	} else {
		t.item = h.collection.item(key, e.Kv)
		h.last[key] = t.item
	}
	h.changes = append(h.changes, t)
}

// indexed reports whether the field has an index.
func (c *Collection) indexed(field string) bool { return slices.Contains(c.config().Index, field) }

// watcherFanout indexes the watchers of a collection by key, namespace and field value, so
// that a change is delivered only to watchers that may select it.
type watcherFanout struct {
	all      watcherGroup
	byPrefix map[string]*watcherGroup
	byKey    map[string]*watcherGroup
	byField  map[string]*watcherGroup // by field, NUL, value
}

// watcherGroup is an unordered set of watchers. Each watcher stores its index in members, so
// that removal takes constant time.
type watcherGroup struct{ members []*Watcher }

func (g *watcherGroup) add(w *Watcher) {
	w.group, w.groupIndex = g, len(g.members)
	g.members = append(g.members, w)
}

func (g *watcherGroup) remove(w *Watcher) {
	last := len(g.members) - 1
	moved := g.members[last]
	g.members[w.groupIndex], g.members[last] = moved, nil
	moved.groupIndex = w.groupIndex
	g.members = g.members[:last]
	w.group = nil
}

// deliver queues the change for every member and removes members that have ended. It
// iterates backwards because remove moves the last member.
func (g *watcherGroup) deliver(f *watcherFanout, t *transition) {
	if g == nil {
		return
	}
	for n := len(g.members) - 1; n >= 0; n-- {
		if w := g.members[n]; !w.push(t) {
			f.remove(w)
		}
	}
}

func (f *watcherFanout) add(w *Watcher) {
	m, key := f.groupFor(w)
	if m == nil {
		f.all.add(w)
		return
	}
	if *m == nil {
		*m = map[string]*watcherGroup{}
	}
	g := (*m)[key]
	if g == nil {
		g = &watcherGroup{}
		(*m)[key] = g
	}
	g.add(w)
}

// remove removes w, if it is a member.
func (f *watcherFanout) remove(w *Watcher) {
	if w.group == nil {
		return
	}
	g := w.group
	g.remove(w)
	if m, key := f.groupFor(w); m != nil && len(g.members) == 0 {
		delete(*m, key)
	}
}

// groupFor returns the group of w by its narrowest selection: the map that holds the group and
// its key there, or nil for f.all.
func (f *watcherFanout) groupFor(w *Watcher) (*map[string]*watcherGroup, string) {
	switch o := &w.opts; {
	case o.Key != "":
		return &f.byKey, o.Key
	case w.indexed:
		return &f.byField, o.Field + "\x00" + o.Value
	case o.Prefix != "":
		return &f.byPrefix, o.Prefix
	}
	return nil, ""
}

// deliver queues a change for all watchers that may select it.
func (f *watcherFanout) deliver(t *transition) {
	key := t.item.key
	if len(f.all.members) > 0 {
		f.all.deliver(f, t)
	}
	if len(f.byKey) > 0 {
		f.byKey[key].deliver(f, t)
	}
	if len(f.byPrefix) > 0 {
		f.byPrefix[key[:strings.IndexByte(key, '/')+1]].deliver(f, t)
	}
	if len(f.byField) == 0 {
		return
	}
	for _, field := range t.item.config.Index {
		now := field + "\x00" + t.item.Field(field)
		f.byField[now].deliver(f, t)
		if t.prev != nil {
			if before := field + "\x00" + t.prev.Field(field); before != now {
				f.byField[before].deliver(f, t)
			}
		}
	}
}

// each calls do with all watchers.
func (f *watcherFanout) each(do func(*Watcher)) {
	groups := []*watcherGroup{&f.all}
	for _, m := range []map[string]*watcherGroup{f.byPrefix, f.byKey, f.byField} {
		for _, g := range m {
			groups = append(groups, g)
		}
	}
	for _, g := range groups {
		for _, w := range g.members {
			do(w)
		}
	}
}

// end ends all watchers with err.
func (f *watcherFanout) end(err error) {
	f.each(func(w *Watcher) {
		w.group = nil
		w.conclude(err)
	})
	*f = watcherFanout{}
}
