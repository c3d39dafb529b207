package storage

import (
	"strings"
	"sync/atomic"

	"github.com/tidwall/btree"
)

// tree holds items by key, in order; a Copy costs nothing until it is changed.
type tree = btree.Map[string, *Item]

// newTree makes an empty tree. Its nodes are smaller than usual: a change copies all
// that are on the way to it.
func newTree() *tree { return btree.NewMap[string, *Item](16) }

// state is the content of a collection as of a revision. One that was
// published is not changed any more.
type state struct {
	rev     int64 // of the last change that is in it
	items   *tree
	indexes []*tree // one per CollectionConfig.Index, by value, NUL, key
	bytes   int64   // of all values

	// doubtful are the items whose values may turn out to be corrupt, and corrupt those
	// that did; nil if there are none.
	doubtful, corrupt *tree

	digested atomic.Pointer[digest]
}

func newState(indexes int) *state {
	s := &state{items: newTree()}
	for range indexes {
		s.indexes = append(s.indexes, newTree())
	}
	return s
}

// copy returns a state that can be changed independently.
func (s *state) copy() *state {
	c := &state{rev: s.rev, items: s.items.Copy(), bytes: s.bytes}
	if s.doubtful != nil {
		c.doubtful = s.doubtful.Copy()
	}
	if s.corrupt != nil {
		c.corrupt = s.corrupt.Copy()
	}
	if len(s.indexes) > 0 {
		c.indexes = make([]*tree, len(s.indexes))
		for n, t := range s.indexes {
			c.indexes[n] = t.Copy()
		}
	}
	return c
}

// set puts item in the place of the previous one of its key, which it returns.
func (s *state) set(item *Item) *Item {
	prev, _ := s.items.Set(item.key, item)
	s.bytes += int64(len(item.value))
	if prev != nil {
		s.bytes -= int64(len(prev.value))
	}
	for n, field := range item.of.Index {
		key := indexKey(item, field)
		if prev != nil {
			if old := indexKey(prev, field); old != key {
				s.indexes[n].Delete(old)
			}
		}
		s.indexes[n].Set(key, item)
	}
	s.judge(item)
	return prev
}

// judge puts the item of a key where its health says.
func (s *state) judge(item *Item) {
	h := item.health.Load()
	s.doubtful = put(s.doubtful, item, h == nil)
	s.corrupt = put(s.corrupt, item, h != nil && h != sound)
}

// put sets the item in a tree, or removes what the tree has under its key, and returns
// the tree; nil for one with nothing in it.
func put(t *tree, item *Item, in bool) *tree {
	if in && t == nil {
		t = newTree()
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

// loaded is called after the last load: nobody knows of any item yet.
func (s *state) loaded() {
	if s.items.Len() > 0 {
		s.doubtful = s.items.Copy()
	}
}

// load is set for items that come in the order of their keys into an empty
// state.
func (s *state) load(item *Item) {
	s.items.Load(item.key, item)
	s.bytes += int64(len(item.value))
	for n, field := range item.of.Index {
		s.indexes[n].Set(indexKey(item, field), item)
	}
}

// remove takes out the item of a key and returns it.
func (s *state) remove(key string) *Item {
	prev, ok := s.items.Delete(key)
	if !ok {
		return nil
	}
	s.bytes -= int64(len(prev.value))
	for n, field := range prev.of.Index {
		s.indexes[n].Delete(indexKey(prev, field))
	}
	s.doubtful, s.corrupt = put(s.doubtful, prev, false), put(s.corrupt, prev, false)
	return prev
}

func indexKey(i *Item, field string) string { return i.Fields()[field] + "\x00" + i.key }

// span is a part of one of the state's trees: the keys from start on that begin
// with prefix.
type span struct {
	t             *tree
	prefix, start string
}

// span returns where the items are that o selects before its filter.
func (s *state) span(of *kind, o *ListOptions) span {
	p := span{t: s.items, prefix: o.Prefix}
	after := o.After
	if o.Field != "" {
		for n, field := range of.Index {
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

// count is the number of items in the span.
func (p span) count() int {
	if p.prefix == "" && p.start == "" {
		return p.t.Len()
	}
	return max(0, rank(p.t, endOf(p.prefix))-rank(p.t, p.start))
}

// ascend calls f with the items of the span until it returns false.
func (p span) ascend(f func(*Item) bool) {
	p.t.Ascend(p.start, func(key string, i *Item) bool {
		return strings.HasPrefix(key, p.prefix) && f(i)
	})
}

// endOf is the first key after all those with the prefix; empty if there is
// none.
func endOf(prefix string) string {
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

// rank is the number of keys below key, or of all if key is empty and meant as
// an end; a start that is empty has rank 0 by the caller's choice of prefix.
func rank(t *tree, key string) int {
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
