package ssa

import "slices"

// itemOps are what is done with the items of an associative list, of plain
// values or of Go values.
type itemOps[V any] struct {
	element func(V) (element, error)
	differ  func(a, b V) (mark, Set, error)
	whole   func(v V, m mark) (Set, error)
	equal   func(a, b V) bool
}

// slot is the items of a list that have the same element: one, if all is well.
type slot[V any] struct {
	element element
	first   V
	more    []V
}

// slotted are the items of a list by their element, in the order of the list.
type slotted[V any] struct {
	all []slot[V]
	at  map[element]int // where they are in all; nil if there are few
}

// fewItems are found as quickly one after the other.
const fewItems = 8

func slots[V any](items []V, ops itemOps[V]) (s slotted[V], err error) {
	s.all = make([]slot[V], 0, len(items))
	if len(items) > fewItems {
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

// find returns the place of e in s.all.
func (s *slotted[V]) find(e element) (int, bool) {
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

// differItems compares two associative lists. Items that share an element are
// owned together, like one atomic value.
func differItems[V any](as, bs []V, ops itemOps[V]) (Set, error) {
	a, err := slots(as, ops)
	if err != nil {
		return nil, err
	}
	b, err := slots(bs, ops)
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
		if n.kids, err = b.all[j].whole(member, ops); err != nil {
			return nil, errAt(n.element, err)
		}
		out = append(out, n)
	}
	return out.sorted(), nil
}

// differSlots compares the items of a list that have the same element; y is nil
// when there are none left.
func differSlots[V any](x, y *slot[V], ops itemOps[V]) (mark, Set, error) {
	switch {
	case y == nil:
		kids, err := x.whole(gone, ops)
		return gone, kids, err
	case x.more == nil && y.more == nil:
		return ops.differ(x.first, y.first)
	case x.more != nil && y.more != nil:
		if ops.equal(x.first, y.first) && slices.EqualFunc(x.more, y.more, ops.equal) {
			return 0, nil, nil
		}
		return member, nil, nil
	case x.more != nil:
		// What was owned together is now an item like others.
		kids, err := ops.whole(y.first, member)
		return gone | member, kids, err
	}
	kids, err := ops.whole(x.first, gone)
	return gone | member, kids, err
}

func (s *slot[V]) whole(m mark, ops itemOps[V]) (Set, error) {
	if s.more != nil {
		return nil, nil
	}
	return ops.whole(s.first, m)
}

// wholeItems returns all of a list that is added, or gone, marked m.
func wholeItems[V any](items []V, ops itemOps[V], m mark) (Set, error) {
	if len(items) > fewItems {
		return wholeSlots(items, ops, m)
	}
	out := make(Set, 0, len(items))
	for i, item := range items {
		e, err := ops.element(item)
		if err != nil {
			return nil, errorf("element %d: %w", i, err)
		}
		if slices.ContainsFunc(out, func(n node) bool { return n.element == e }) {
			return wholeSlots(items, ops, m)
		}
		out = append(out, node{element: e, mark: m})
	}
	for i, item := range items {
		var err error
		if out[i].kids, err = ops.whole(item, m); err != nil {
			return nil, errAt(out[i].element, err)
		}
	}
	return out.sorted(), nil
}

// wholeSlots is wholeItems for lists that are long, or in which items share an
// element.
func wholeSlots[V any](items []V, ops itemOps[V], m mark) (Set, error) {
	s, err := slots(items, ops)
	if err != nil {
		return nil, err
	}
	out := make(Set, 0, len(s.all))
	for i := range s.all {
		kids, err := s.all[i].whole(m, ops)
		if err != nil {
			return nil, errAt(s.all[i].element, err)
		}
		out = append(out, node{s.all[i].element, m, kids})
	}
	return out.sorted(), nil
}
