package ssa

import "slices"

// itemOps are the operations on items of an associative list, of decoded JSON or of Go values.
type itemOps[V any] struct {
	element   func(V) (element, error)
	diff      func(a, b V) (mark, Set, error)
	allFields func(v V, m mark) (Set, error)
	equal     func(a, b V) bool
}

// slot holds the items of a list with the same element: one, unless the list has duplicates.
type slot[V any] struct {
	element element
	first   V
	more    []V
}

// slotList holds the items of a list by element, in the order of the list.
type slotList[V any] struct {
	all []slot[V]
	at  map[element]int // indexes in all; nil for short lists
}

// maxLinearItems is the length up to which a linear search is as fast as a map.
const maxLinearItems = 8

func newSlotList[V any](items []V, ops itemOps[V]) (s slotList[V], err error) {
	s.all = make([]slot[V], 0, len(items))
	if len(items) > maxLinearItems {
		s.at = make(map[element]int, len(items))
	}
	for i, item := range items {
		e, err := ops.element(item)
		if err != nil {
			return s, errorf("element %d: %w", i, err)
		}
		if j, ok := s.find(e); ok {
			s.all[j].more = append(s.all[j].more, item)
			continue
		}
		if s.at != nil {
			s.at[e] = len(s.all)
		}
		s.all = append(s.all, slot[V]{element: e, first: item})
	}
	return s, nil
}

// find returns the index of e in s.all.
func (s *slotList[V]) find(e element) (int, bool) {
	if s.at != nil {
		j, ok := s.at[e]
		return j, ok
	}
	for j := range s.all {
		if s.all[j].element == e {
			return j, true
		}
	}
	return 0, false
}

// differItems compares two associative lists. Items with the same element are owned together, like
// one atomic value.
func differItems[V any](as, bs []V, ops itemOps[V]) (Set, error) {
	a, err := newSlotList(as, ops)
	if err != nil {
		return nil, err
	}
	b, err := newSlotList(bs, ops)
	if err != nil {
		return nil, err
	}
	var out Set
	seen := make([]bool, len(b.all))
	for i := range a.all {
		n := node{element: a.all[i].element}
		var y *slot[V]
		if j, ok := b.find(n.element); ok {
			y, seen[j] = &b.all[j], true
		}
		if n.mark, n.kids, err = differSlots(&a.all[i], y, ops); err != nil {
			return nil, errAt(n.element, err)
		}
		if n.mark != 0 || len(n.kids) > 0 {
			out = append(out, n)
		}
	}
	for j := range b.all {
		if seen[j] {
			continue
		}
		n := node{element: b.all[j].element, mark: member}
		if n.kids, err = b.all[j].allFields(member, ops); err != nil {
			return nil, errAt(n.element, err)
		}
		out = append(out, n)
	}
	return out.sorted(), nil
}

// differSlots compares the items with the same element; y is nil if they were removed.
func differSlots[V any](x, y *slot[V], ops itemOps[V]) (mark, Set, error) {
	switch {
	case y == nil:
		kids, err := x.allFields(removed, ops)
		return removed, kids, err
	case x.more == nil && y.more == nil:
		return ops.diff(x.first, y.first)
	case x.more != nil && y.more != nil:
		if ops.equal(x.first, y.first) && slices.EqualFunc(x.more, y.more, ops.equal) {
			return 0, nil, nil
		}
		return member, nil, nil
	case x.more != nil:
		// Duplicates, which were owned together, have become an ordinary item.
		kids, err := ops.allFields(y.first, member)
		return removed | member, kids, err
	}
	kids, err := ops.allFields(x.first, removed)
	return removed | member, kids, err
}

func (s *slot[V]) allFields(m mark, ops itemOps[V]) (Set, error) {
	if s.more != nil {
		return nil, nil
	}
	return ops.allFields(s.first, m)
}

// allItems returns all fields of an added or removed list, marked m.
func allItems[V any](items []V, ops itemOps[V], m mark) (Set, error) {
	if len(items) > maxLinearItems {
		return allSlots(items, ops, m)
	}
	out := make(Set, 0, len(items))
	for i, item := range items {
		e, err := ops.element(item)
		if err != nil {
			return nil, errorf("element %d: %w", i, err)
		}
		if slices.ContainsFunc(out, func(n node) bool { return n.element == e }) {
			return allSlots(items, ops, m)
		}
		out = append(out, node{element: e, mark: m})
	}
	for i, item := range items {
		var err error
		if out[i].kids, err = ops.allFields(item, m); err != nil {
			return nil, errAt(out[i].element, err)
		}
	}
	return out.sorted(), nil
}

// allSlots is allItems for long lists and lists with duplicates.
func allSlots[V any](items []V, ops itemOps[V], m mark) (Set, error) {
	s, err := newSlotList(items, ops)
	if err != nil {
		return nil, err
	}
	out := make(Set, 0, len(s.all))
	for i := range s.all {
		kids, err := s.all[i].allFields(m, ops)
		if err != nil {
			return nil, errAt(s.all[i].element, err)
		}
		out = append(out, node{s.all[i].element, m, kids})
	}
	return out.sorted(), nil
}
