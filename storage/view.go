package storage

import (
	"context"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/monotonic"
)

// View is a late view of caches: it has their states of some time ago, as another server has them whose watch of etcd is behind. Each of
// its states is one that the collection had, and it only goes forward. It reaches back as far as the windows of recent changes do.
type View struct {
	age     atomic.Int64 // by which it is late, in nanoseconds; 0 once it is as the caches are
	horizon atomic.Int64 // reading of package monotonic up to which it has the changes

	mu     sync.Mutex
	states map[*Collection]*viewedState
}

// viewedState is a collection in a View.
type viewedState struct {
	config    *itemConfig      // of the items
	working   *collectionState // to which changes are applied
	published *collectionState // a copy for readers
	complete  int64            // the revision up to which it has all changes
}

// NewView returns a view that is late by age from the beginning: its first states are those of that time ago.
func NewView(age time.Duration) *View {
	v := &View{states: map[*Collection]*viewedState{}}
	v.age.Store(int64(age))
	return v
}

// End makes the view as the caches are. Its watchers receive the changes that it held back.
func (v *View) End() {
	v.age.Store(0)
	v.mu.Lock()
	var viewed []*Collection
	for c := range v.states {
		viewed = append(viewed, c)
	}
	clear(v.states)
	v.mu.Unlock()
	for _, c := range viewed {
		c.signalWatchers()
	}
}

// isLate reports whether the view differs from the caches; a nil View does not.
func (v *View) isLate() bool { return v != nil && v.age.Load() > 0 }

// advance returns the time up to which the view has the changes now.
func (v *View) advance() int64 {
	then := max(monotonic.Now()-v.age.Load(), 0) // a change that was read from etcd's history was received at 0
	for {
		last := v.horizon.Load()
		if then <= last {
			return last
		}
		if v.horizon.CompareAndSwap(last, then) {
			return then
		}
	}
}

// due returns how many of the changes, which are in their order, the view has now.
func (v *View) due(changes []*transition) int {
	horizon := v.advance()
	return sort.Search(len(changes), func(n int) bool { return changes[n].received > horizon })
}

// until returns the time until the view has a change.
func (v *View) until(t *transition) time.Duration {
	return time.Duration(t.received + v.age.Load() - monotonic.Now())
}

// state returns the state of a collection in the view, the revision up to which it is complete, and the time until it has its next change,
// which is 0 if there is none. The state is nil if the collection is not loaded.
func (v *View) state(c *Collection) (st *collectionState, complete int64, next time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	applied := c.store.applied.rev.Load() // first: the window has all changes up to it
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.working == nil {
		return nil, 0, 0
	}
	all := c.window.changes
	due := v.due(all)
	complete = max(applied, c.working.rev)
	if due < len(all) {
		complete, next = all[due].rev-1, max(v.until(all[due]), time.Nanosecond)
	}
	s := v.states[c]
	if s == nil || s.config != c.config() || s.working.rev < c.window.since {
		s = &viewedState{config: c.config(), working: c.working.copy()}
		s.working.revert(all[due:])
		s.working.rev = c.window.since
		if due > 0 {
			s.working.rev = all[due-1].rev
		}
		v.states[c] = s
	}
	first := sort.Search(due, func(n int) bool { return all[n].rev > s.working.rev })
	if first < due || s.published == nil {
		s.working.apply(all[first:due])
		s.published = s.working.copy()
	}
	s.complete = max(s.complete, complete)
	return s.published, s.complete, next
}

// apply applies changes to the state.
func (s *collectionState) apply(changes []*transition) {
	for _, t := range changes {
		if t.deleted {
			s.remove(t.item.key)
		} else {
			s.set(t.item)
		}
		s.rev = t.rev
	}
}

// revert takes changes back, the last ones of the state.
func (s *collectionState) revert(changes []*transition) {
	for _, t := range slices.Backward(changes) {
		if t.prev != nil {
			s.set(t.prev)
		} else {
			s.remove(t.item.key)
		}
	}
}

// wait returns the state of a collection once the view has reached a revision. It waits as long as a read of the cache does.
func (v *View) wait(ctx context.Context, c *Collection, wanted int64) (*collectionState, int64, error) {
	const longest = 50 * time.Millisecond // the view may end meanwhile
	wait, cancel := context.WithTimeout(ctx, c.store.opts.FutureWait)
	defer cancel()
	for {
		st, rev, next := v.state(c)
		if rev >= wanted || st == nil {
			return st, rev, nil
		}
		if next == 0 || next > longest {
			next = longest
		}
		select {
		case <-time.After(next):
		case <-wait.Done():
			if ctx.Err() != nil {
				return nil, 0, context.Cause(ctx)
			}
			return nil, 0, &FutureRevisionError{Wanted: wanted, Current: rev}
		}
	}
}

// viewOf returns the late view from which a read is served; nil if it is served from the cache.
func (c *Collection) viewOf(r Read) *View {
	v := r.View
	switch r.Match {
	case Followed:
		v = c.lag.Load()
	case Consistent, Exact:
		return nil
	}
	if v.isLate() {
		return v
	}
	return nil
}

// viewedFor is stateFor in a late view.
func (c *Collection) viewedFor(ctx context.Context, v *View, r Read) (*collectionState, int64, error) {
	if c.store.ctx.Err() != nil || c.closed.Load() {
		return nil, 0, c.closedError()
	}
	wanted := int64(0)
	if r.Match == NotOlderThan {
		wanted = r.Revision
	}
	st, rev, err := v.wait(ctx, c, wanted)
	if err == nil && st == nil {
		err = c.notLoaded()
	}
	return st, rev, err
}

// SetLag has the parts of the server that follow the collection see its changes so much later, from now on. 0 ends that.
func (c *Collection) SetLag(d time.Duration) {
	switch v := c.lag.Load(); {
	case v == nil && d > 0:
		v = NewView(d)
		v.horizon.Store(monotonic.Now()) // what they have seen stays seen
		c.lag.Store(v)
	case v != nil && d > 0:
		v.age.Store(int64(d))
	case v != nil:
		c.lag.Store(nil)
		v.age.Store(0)
	default:
		return
	}
	c.signalWatchers()
}

// followed returns the content of the cache as the parts of the server see it that follow it.
func (c *Collection) followed() *collectionState {
	if v := c.lag.Load(); v.isLate() {
		st, _, _ := v.state(c)
		return st
	}
	return c.current.Load()
}

// signalWatchers has all watchers look for changes that they may see now.
func (c *Collection) signalWatchers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fanout.each(func(w *Watcher) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.signalLocked()
	})
}
