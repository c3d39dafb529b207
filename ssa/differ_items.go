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

// slots collects items by their element, in the order of the list.
func slots[V any](items []V, ops itemOps[V]) ([]slot[V], map[element]int, error) {
	out := make([]slot[V], 0, len(items))
	at := make(map[element]int, len(items))
	for i, item := range items {
		e, err := ops.element(item)
		if err != nil {
			return nil, nil, errorf("element %d: %w", i, err)
		}
		if j, ok := at[e]; ok {
			out[j].more = append(out[j].more, item)
			continue
		}
		at[e] = len(out)
		out = append(out, slot[V]{element: e, first: item})
	}
	return out, at, nil
}

// differItems compares two associative lists. Items that share an element are
// owned together, like one atomic value.
func differItems[V any](as, bs []V, ops itemOps[V]) (Set, error) {
	a, _, err := slots(as, ops)
	if err != nil {
		return nil, err
	}
	b, inB, err := slots(bs, ops)
	if err != nil {
		return nil, err
	}
	var out Set
	seen := make([]bool, len(b))
	for i := range a {
		n := node{element: a[i].element}
		var y *slot[V]
		if j, ok := inB[n.element]; ok {
			y, seen[j] = &b[j], true
		}
		if n.mark, n.kids, err = differSlots(&a[i], y, ops); err != nil {
			return nil, errAt(n.element, err)
		}
		if n.mark != 0 || len(n.kids) > 0 {
			out = append(out, n)
		}
	}
	for j := range b {
		if seen[j] {
			continue
		}
		n := node{element: b[j].element, mark: member}
		if n.kids, err = b[j].whole(member, ops); err != nil {
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
	all, _, err := slots(items, ops)
	if err != nil {
		return nil, err
	}
	out := make(Set, 0, len(all))
	for i := range all {
		kids, err := all[i].whole(m, ops)
		if err != nil {
			return nil, errAt(all[i].element, err)
		}
		out = append(out, node{all[i].element, m, kids})
	}
	return out.sorted(), nil
}
