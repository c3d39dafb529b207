package storage

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Mark is a state of all collections of a store. It costs a pointer for each collection when it is made; later it keeps alive
// the items that were changed or deleted since. A Mark is immutable.
type Mark struct {
	rev    int64
	states []markedState // of the collections that have objects
}

// markedState is a collection in a Mark. Its configuration is the one at that time, for collections that end.
type markedState struct {
	config *itemConfig
	items  *itemTree
	bytes  int64
}

// of returns the state of the collection with a prefix; the zero value if it had no objects.
func (m *Mark) of(prefix string) markedState {
	for _, s := range m.states {
		if s.config.Prefix == prefix {
			return s
		}
	}
	return markedState{}
}

// Revision returns the revision of the state.
func (m *Mark) Revision() int64 { return m.rev }

// Size returns the number of objects in the state, and the size of their values in bytes.
func (m *Mark) Size() (objects int, bytes int64) {
	for _, s := range m.states {
		objects, bytes = objects+s.items.Len(), bytes+s.bytes
	}
	return objects, bytes
}

// Mark returns the state of all collections that includes every write which etcd acknowledged before the call.
func (s *Store) Mark(ctx context.Context) (*Mark, error) {
	rev, err := s.Revision(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.caughtUp(ctx, rev); err != nil {
		return nil, err
	}
	return s.currentMark(), nil
}

// currentMark returns the state that the caches have.
func (s *Store) currentMark() *Mark {
	s.applyMu.Lock()
	defer s.applyMu.Unlock()
	n := 0
	for _, c := range s.routes {
		if objects, _ := c.Size(); objects > 0 {
			n++
		}
	}
	m := &Mark{rev: s.applied.rev.Load(), states: make([]markedState, 0, n)}
	for _, c := range s.routes {
		if st := c.current.Load(); st != nil && st.items.Len() > 0 {
			m.states = append(m.states, markedState{c.config(), st.items, st.bytes})
		}
	}
	return m
}

// MarkAt returns the state of all collections at a revision of etcd's history. It reads all keys. Collections that ended since
// are missing. It returns a CompactedError or a FutureRevisionError if there is no such state.
func (s *Store) MarkAt(ctx context.Context, rev int64) (*Mark, error) {
	m := &Mark{rev: rev}
	s.applyMu.Lock()
	routes := maps.Clone(s.routes)
	s.applyMu.Unlock()
	states := map[*Collection]*collectionState{}
	_, err := s.scan(ctx, s.opts.Prefix+"/", rev, false, func(kv *mvccpb.KeyValue) {
		c, key := routeIn(routes, s.opts.Prefix, kv.Key)
		if c == nil {
			return
		}
		if states[c] == nil {
			states[c] = newCollectionState(0)
		}
		states[c].items.Load(key, c.cachedOrNewItem(key, kv))
		states[c].bytes += int64(len(kv.Value))
	})
	if err != nil {
		return nil, s.markError(err, rev)
	}
	for c, st := range states {
		m.states = append(m.states, markedState{c.config(), st.items, st.bytes})
	}
	return m, nil
}

// markError returns the error of reading a state of the past.
func (s *Store) markError(err error, rev int64) error {
	if compacted := s.compacted.Load(); rev < compacted || strings.Contains(err.Error(), "compacted") {
		return &CompactedError{Wanted: rev, Compacted: compacted}
	}
	if newest := s.newestKnown(); rev > newest {
		return &FutureRevisionError{Wanted: rev, Current: newest}
	}
	return fmt.Errorf("reading the state at revision %d: %w", rev, err)
}

// Difference is a key that differs between a Mark and the present.
type Difference struct {
	Prefix, Key string // of the collection, and in it
	// Now is the present item, nil if there is none. Then is the item in the Mark, nil if there was none.
	Now, Then *Item
	config    *itemConfig // of the collection
}

// Resource returns the resource of the key.
func (d *Difference) Resource() schema.GroupResource {
	return schema.GroupResource{Group: d.config.Group, Resource: d.config.Resource}
}

// Names returns the namespace and the name in the key.
func (d *Difference) Names() (namespace, name string) {
	i := &Item{key: d.Key}
	return i.Namespace(), i.Name()
}

// Differences returns the keys whose values differ between two marks, of the collections for which in returns true, in the
// order of prefixes and keys.
func (m *Mark) Differences(now *Mark, in func(prefix string) bool) []Difference {
	var out []Difference
	var prefixes []string
	for _, s := range append(slices.Clone(m.states), now.states...) {
		prefixes = append(prefixes, s.config.Prefix)
	}
	slices.Sort(prefixes)
	for _, prefix := range slices.Compact(prefixes) {
		if in != nil && !in(prefix) {
			continue
		}
		was, is := m.of(prefix), now.of(prefix)
		config := is.config
		if config == nil {
			config = was.config
		}
		if was.items == is.items {
			continue
		}
		out = appendDifferences(out, was.items, is.items, func(d Difference) Difference {
			d.Prefix, d.config = prefix, config
			return d
		})
	}
	return out
}

// appendDifferences appends the differences of two trees, either of which may be nil.
func appendDifferences(out []Difference, was, is *itemTree, complete func(Difference) Difference) []Difference {
	if was == nil {
		was = newItemTree()
	}
	if is == nil {
		is = newItemTree()
	}
	a, b := was.Iter(), is.Iter()
	hasA, hasB := a.First(), b.First()
	for hasA || hasB {
		switch {
		case !hasB || hasA && a.Key() < b.Key():
			out = append(out, complete(Difference{Key: a.Key(), Then: a.Value()}))
			hasA = a.Next()
		case !hasA || b.Key() < a.Key():
			out = append(out, complete(Difference{Key: b.Key(), Now: b.Value()}))
			hasB = b.Next()
		default:
			then, now := a.Value(), b.Value()
			if then != now && then.rev != now.rev && !bytes.Equal(then.value, now.value) {
				out = append(out, complete(Difference{Key: a.Key(), Now: now, Then: then}))
			}
			hasA, hasB = a.Next(), b.Next()
		}
	}
	return out
}
