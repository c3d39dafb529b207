package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tidwall/btree"
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
	if v := c.viewOf(r); v != nil {
		return c.viewedFor(ctx, v, r)
	}
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
		return nil, 0, c.notLoaded()
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

// notLoaded returns the error of a collection whose cache is not complete yet.
func (c *Collection) notLoaded() error {
	return fmt.Errorf("%w: %s is not loaded", ErrUnavailable, c.config().Prefix)
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
	case Any, Followed:
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
	if o.Field != "" && i.Field(o.Field) != o.Value {
		return false
	}
	return o.Filter == nil || o.Filter(i)
}

// itemTree holds items ordered by key. Copy is lazy: nodes are copied when they change.
type itemTree = btree.Map[string, *Item]

// newItemTree returns an empty tree. Its nodes are smaller than the default, because a change
// copies all nodes on its path.
func newItemTree() *itemTree { return btree.NewMap[string, *Item](16) }

// collectionState is the content of a collection at a revision. A published state is immutable.
type collectionState struct {
	rev     int64 // of the last applied change
	items   *itemTree
	indexes []*itemTree // one for each CollectionConfig.Index, by value, NUL, key
	bytes   int64       // total size of the values

	// undecoded has the items whose values were not decoded yet, and corrupt the items whose
	// values cannot be decoded. They are nil if empty.
	undecoded, corrupt *itemTree

	cachedIndex atomic.Pointer[signatureIndex]
}

func newCollectionState(indexes int) *collectionState {
	s := &collectionState{items: newItemTree()}
	for range indexes {
		s.indexes = append(s.indexes, newItemTree())
	}
	return s
}

// copy returns a copy that can be changed independently.
func (s *collectionState) copy() *collectionState {
	c := &collectionState{rev: s.rev, items: s.items.Copy(), bytes: s.bytes}
	if s.undecoded != nil {
		c.undecoded = s.undecoded.Copy()
	}
	if s.corrupt != nil {
		c.corrupt = s.corrupt.Copy()
	}
	if len(s.indexes) > 0 {
		c.indexes = make([]*itemTree, len(s.indexes))
		for n, t := range s.indexes {
			c.indexes[n] = t.Copy()
		}
	}
	return c
}

// set inserts item and returns the previous item of its key.
func (s *collectionState) set(item *Item) *Item {
	prev, _ := s.items.Set(item.key, item)
	s.bytes += int64(len(item.value))
	if prev != nil {
		s.bytes -= int64(len(prev.value))
	}
	for n, field := range item.config.Index {
		key := indexKey(item, field)
		if prev != nil {
			if old := indexKey(prev, field); old != key {
				s.indexes[n].Delete(old)
			}
		}
		s.indexes[n].Set(key, item)
	}
	s.fileByHealth(item)
	return prev
}

// fileByHealth files an item under undecoded or corrupt according to its health.
func (s *collectionState) fileByHealth(item *Item) {
	h := item.health.Load()
	if h == notCorrupt && s.undecoded == nil && s.corrupt == nil {
		return
	}
	s.undecoded = putOrDelete(s.undecoded, item, h == nil)
	s.corrupt = putOrDelete(s.corrupt, item, h != nil && h != notCorrupt)
}

// putOrDelete inserts the item into t or deletes its key from t. It returns t, which is nil if
// it is empty.
func putOrDelete(t *itemTree, item *Item, in bool) *itemTree {
	if in && t == nil {
		t = newItemTree()
	}
	if in {
		t.Set(item.key, item)
	} else if t != nil {
		t.Delete(item.key)
		if t.Len() == 0 {
			return nil
		}
	}
	return t
}

// finishLoad is called after the last load. No loaded item has been decoded yet.
func (s *collectionState) finishLoad() {
	if s.items.Len() > 0 {
		s.undecoded = s.items.Copy()
	}
}

// appendLoaded inserts an item into a state that is being loaded; items must come in the order
// of their keys.
func (s *collectionState) appendLoaded(item *Item) {
	s.items.Load(item.key, item)
	s.bytes += int64(len(item.value))
	for n, field := range item.config.Index {
		s.indexes[n].Set(indexKey(item, field), item)
	}
}

// remove deletes the item of a key and returns it.
func (s *collectionState) remove(key string) *Item {
	prev, ok := s.items.Delete(key)
	if !ok {
		return nil
	}
	s.bytes -= int64(len(prev.value))
	for n, field := range prev.config.Index {
		s.indexes[n].Delete(indexKey(prev, field))
	}
	s.undecoded, s.corrupt = putOrDelete(s.undecoded, prev, false), putOrDelete(s.corrupt, prev, false)
	return prev
}

// indexKey returns the key of an item in the index of a field. It depends on the value alone, so that an item is
// removed from where it was inserted: the field of a value that cannot be decoded is known only until that is tried.
func indexKey(i *Item, field string) string {
	text, ok := i.storedField(field)
	if !ok {
		text = i.Fields().Get(field)
	}
	return text + "\x00" + i.key
}

// keyRange is a range of one of the state's trees: the keys from start on that begin with
// prefix.
type keyRange struct {
	t             *itemTree
	prefix, start string
}

// keyRange returns the narrowest range that contains all items that o selects.
func (s *collectionState) keyRange(config *itemConfig, o *ListOptions) keyRange {
	p := keyRange{t: s.items, prefix: o.Prefix}
	after := o.After
	if o.Field != "" {
		for n, field := range config.Index {
			if field == o.Field {
				p.t, p.prefix = s.indexes[n], o.Value+"\x00"+o.Prefix
				if after != "" {
					after = o.Value + "\x00" + after
				}
			}
		}
	}
	p.start = p.prefix
	if after != "" && after >= p.start {
		p.start = after + "\x00"
	}
	return p
}

// count returns the number of items in the span.
func (p keyRange) count() int {
	if p.prefix == "" && p.start == "" {
		return p.t.Len()
	}
	return max(0, rankOfKey(p.t, prefixEnd(p.prefix))-rankOfKey(p.t, p.start))
}

// ascend calls f with the items of the span in order until f returns false.
func (p keyRange) ascend(f func(*Item) bool) {
	p.t.Ascend(p.start, func(key string, i *Item) bool {
		return strings.HasPrefix(key, p.prefix) && f(i)
	})
}

// prefixEnd returns the smallest key above all keys with the prefix, or "" if there is none.
func prefixEnd(prefix string) string {
	b := []byte(prefix)
	for len(b) > 0 {
		if last := len(b) - 1; b[last] < 0xff {
			b[last]++
			return string(b)
		}
		b = b[:len(b)-1]
	}
	return ""
}

// rankOfKey returns the number of keys below key. An empty key means the end of the tree.
func rankOfKey(t *itemTree, key string) int {
	if key == "" {
		return t.Len()
	}
	low, high := 0, t.Len()
	for low < high {
		mid := (low + high) / 2
		if k, _, _ := t.GetAt(mid); k < key {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}
