package storage

import (
	"context"
	"errors"
	"fmt"
)

// Get reads one key; ErrNotFound if there is nothing.
func (c *Collection) Get(ctx context.Context, key string, r Read) (*Item, error) {
	st, rev, err := c.view(ctx, r)
	if err != nil {
		return nil, err
	}
	if st == nil {
		return c.getStored(ctx, key, rev)
	}
	if i, ok := st.items.Get(key); ok {
		return i, nil
	}
	return nil, ErrNotFound
}

// List reads one page.
func (c *Collection) List(ctx context.Context, o ListOptions) (*List, error) {
	st, rev, err := c.view(ctx, o.Read)
	if err != nil {
		return nil, err
	}
	if st == nil {
		return c.listStored(ctx, &o, rev)
	}
	l := st.list(c.kind(), &o)
	if o.Verify {
		if err := c.intact(st, &o, l.Next); err != nil {
			return nil, err
		}
	}
	l.Revision = rev
	if l.Next != "" {
		c.keep(rev, st)
	}
	return l, nil
}

// view returns the state that answers r and the revision it is complete up to.
// When the state is nil, etcd has to be read at that revision.
func (c *Collection) view(ctx context.Context, r Read) (*state, int64, error) {
	if err := c.fresh(ctx, r); err != nil {
		if errors.Is(err, errBehind) { // the watch may be broken while etcd is not
			if r.Match == Exact {
				return nil, r.Revision, nil
			}
			return nil, 0, nil
		}
		return nil, 0, err
	}
	st, rev := c.latest()
	if st == nil {
		return nil, 0, fmt.Errorf("%w: %s is not loaded", ErrUnavailable, c.kind().Prefix)
	}
	if r.Match == Exact && (r.Revision < st.rev || r.Revision > rev) {
		return c.stateAt(r.Revision), r.Revision, nil
	}
	if r.Match == Exact {
		rev = r.Revision
	}
	return st, rev, nil
}

// latest is the newest state and the revision it is complete up to. The order
// matters: a state holds all changes up to what was applied when it was taken.
func (c *Collection) latest() (*state, int64) {
	rev := c.store.applied.current()
	st := c.current.Load()
	if st == nil {
		return nil, 0
	}
	return st, max(rev, st.rev)
}

// errBehind: the cache has not got where it must be.
var errBehind = fmt.Errorf("%w: the cache is behind", ErrUnavailable)

// fresh waits until the cache can answer r.
func (c *Collection) fresh(ctx context.Context, r Read) error {
	s := c.store
	if s.ctx.Err() != nil || c.closed.Load() {
		return ErrClosed
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
	if s.applied.current() >= wanted {
		return nil
	}
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
	case r.Match == Consistent, r.Match == Exact: // etcd knows whether there is such a revision
		return errBehind
	}
	return &FutureRevisionError{Wanted: wanted, Current: s.newest()}
}

// newest is the newest revision that is known without asking anybody.
func (s *Store) newest() int64 {
	if s.embedded != nil {
		if rev, err := s.embedded.revision(); err == nil {
			return max(rev, s.applied.current())
		}
	}
	return s.applied.current()
}

// list takes a page from the state.
func (s *state) list(of *kind, o *ListOptions) *List {
	l := &List{}
	if o.Key != "" {
		if i, ok := s.items.Get(o.Key); ok && o.Key > o.After && o.keeps(i) {
			l.Items = []*Item{i}
		}
		return l
	}
	p := s.span(of, o)
	all := 0
	plain := o.Filter == nil && o.Field == ""
	if plain {
		all = p.count()
		l.Items = make([]*Item, 0, o.most(all))
	}
	ascend := p.ascend
	if o.Labels != 0 && p.t == s.items {
		ascend = func(f func(*Item) bool) { s.digest().ascend(p, o.Labels, f) }
	}
	ascend(func(i *Item) bool {
		if !plain && !o.keeps(i) {
			return true
		}
		if o.Limit > 0 && int64(len(l.Items)) == o.Limit {
			l.Next = l.Items[len(l.Items)-1].key
			return false
		}
		l.Items = append(l.Items, i)
		return true
	})
	switch {
	case l.Next == "":
	case plain:
		l.Remaining = int64(all - len(l.Items))
	default:
		l.Remaining = -1
	}
	return l
}

// most is how many of n items a page takes.
func (o *ListOptions) most(n int) int {
	if o.Limit > 0 && o.Limit < int64(n) {
		return int(o.Limit)
	}
	return n
}

// keeps tells whether o selects an item of its prefix or key.
func (o *ListOptions) keeps(i *Item) bool {
	if o.Field != "" && i.Fields()[o.Field] != o.Value {
		return false
	}
	return o.Filter == nil || o.Filter(i)
}
