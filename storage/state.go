package storage

import (
	"strings"
	"sync/atomic"

	"github.com/tidwall/btree"
)

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

func indexKey(i *Item, field string) string { return i.Fields()[field] + "\x00" + i.key }

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
