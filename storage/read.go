package storage

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Get returns the item of a key, or ErrNotFound.
func (c *Collection) Get(ctx context.Context, key string, r Read) (*Item, error) {
	st, rev, err := c.stateFor(ctx, r)
	if err != nil {
		return nil, err
	}
	if st == nil {
		return c.getFromEtcd(ctx, key, rev)
	}
	if i, ok := st.items.Get(key); ok {
		return i, nil
	}
	return nil, ErrNotFound
}

// List reads one page.
func (c *Collection) List(ctx context.Context, o ListOptions) (*List, error) {
	st, rev, err := c.stateFor(ctx, o.Read)
	if err != nil {
		return nil, err
	}
	if st == nil {
		start := time.Now()
		l, err := c.listFromEtcd(ctx, &o, rev)
		if err == nil {
			c.listedRemotely(l, &o, start)
		}
		return l, err
	}
	l := st.list(c.config(), &o)
	c.listed(l, &o)
	if o.Verify {
		if err := c.checkDecodable(st, &o, l.Next); err != nil {
			return nil, err
		}
	}
	l.Revision = rev
	if l.Next != "" {
		c.cacheState(rev, st)
	}
	return l, nil
}

// stateFor returns the state that satisfies r and the revision up to which it is complete. If
// the state is nil, the caller must read etcd at that revision.
func (c *Collection) stateFor(ctx context.Context, r Read) (*collectionState, int64, error) {
	if err := c.waitFresh(ctx, r); err != nil {
		if errors.Is(err, errBehind) { // the watch may be broken while etcd works
			if r.Match == Exact {
				return nil, r.Revision, nil
			}
			return nil, 0, nil
		}
		return nil, 0, err
	}
	rev := c.store.applied.rev.Load() // first: a state that is loaded later has all changes up to it
	st := c.current.Load()
	if st == nil {
		return nil, 0, fmt.Errorf("%w: %s is not loaded", ErrUnavailable, c.config().Prefix)
	}
	rev = max(rev, st.rev)
	if r.Match == Exact && r.Revision < c.store.compacted.Load() {
		return nil, r.Revision, nil // etcd answers that it was compacted, also if the cache could still tell
	}
	if r.Match == Exact && (r.Revision < st.rev || r.Revision > rev) {
		return c.stateAt(r.Revision), r.Revision, nil
	}
	if r.Match == Exact {
		rev = r.Revision
	}
	return st, rev, nil
}

// errBehind means that the cache did not reach the required revision in time.
var errBehind = fmt.Errorf("%w: the cache is behind", ErrUnavailable)

// waitFresh waits until the cache can satisfy r.
func (c *Collection) waitFresh(ctx context.Context, r Read) error {
	s := c.store
	if s.ctx.Err() != nil || c.closed.Load() {
		return c.closedError()
	}
	if r.Match == Exact && r.Revision <= 0 {
		return fmt.Errorf("storage: cannot read exactly revision %d", r.Revision)
	}
	wanted := r.Revision
	switch r.Match {
	case Any:
		return nil
	case Consistent:
		rev, err := s.Revision(ctx)
		if err != nil {
			return err
		}
		wanted = rev
	}
	if s.applied.rev.Load() >= wanted {
		c.metrics.reads().wait.Observe(0)
		return nil
	}
	start := time.Now()
	defer func() { c.metrics.reads().wait.Observe(time.Since(start).Seconds()) }()
	wait, cancel := context.WithTimeout(ctx, s.opts.FutureWait)
	defer cancel()
	err := s.caughtUp(wait, wanted)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, ErrClosed):
		return ErrClosed
	case r.Match == Consistent, r.Match == Exact: // etcd itself decides whether the revision exists
		return errBehind
	}
	return &FutureRevisionError{Wanted: wanted, Current: s.newestKnown()}
}

// newestKnown returns the newest revision that is known without a request to etcd.
func (s *Store) newestKnown() int64 {
	if s.embedded != nil {
		if rev, err := s.embedded.revision(); err == nil {
			return max(rev, s.applied.rev.Load())
		}
	}
	return s.applied.rev.Load()
}

// list returns a page of the state.
func (s *collectionState) list(config *itemConfig, o *ListOptions) *List {
	l := &List{}
	if o.Key != "" {
		if i, ok := s.items.Get(o.Key); ok && o.Key > o.After && o.selects(i) {
			l.Items, l.examined = []*Item{i}, 1
		}
		return l
	}
	p := s.keyRange(config, o)
	unfiltered := o.Filter == nil && o.Field == ""
	if unfiltered {
		l.Items = make([]*Item, 0, o.pageSize(p.count()))
	}
	ascend := p.ascend
	if o.Labels != 0 && p.t == s.items {
		ascend = func(f func(*Item) bool) { s.signatureIndex().ascend(p, o.Labels, f) }
	}
	ascend(func(i *Item) bool {
		l.examined++
		if unfiltered || o.selects(i) {
			l.Items = append(l.Items, i)
		}
		return o.Limit == 0 || int64(len(l.Items)) < o.Limit
	})
	if o.Limit == 0 || int64(len(l.Items)) < o.Limit {
		return l
	}
	rest := *o
	rest.After = l.Items[len(l.Items)-1].key
	// As in kube-apiserver, another page follows even if no item in it is selected.
	if left := s.keyRange(config, &rest).count(); left > 0 {
		l.Next, l.Remaining = rest.After, int64(left)
		if !unfiltered {
			l.Remaining = -1
		}
	}
	return l
}

// pageSize returns how many of n items fit on a page.
func (o *ListOptions) pageSize(n int) int {
	if o.Limit > 0 && o.Limit < int64(n) {
		return int(o.Limit)
	}
	return n
}

// selects reports whether the field and filter of o select an item; the caller has checked its
// key.
func (o *ListOptions) selects(i *Item) bool {
	if o.Field != "" && i.Fields()[o.Field] != o.Value {
		return false
	}
	return o.Filter == nil || o.Filter(i)
}
