package ssa

import "slices"

// mark describes a node of a Set.
type mark uint8

const (
	// member means that the field belongs to the Set; in a difference, that it was added or
	// changed.
	member mark = 1 << iota
	// removed, in a difference, means that the field was removed.
	removed
)

// node is a field of a Set, or an inner node on the path to one.
type node struct {
	element
	mark mark
	kids Set
}

// Set is a set of fields: a tree with nodes sorted by element. Each node is a member or has one
// below it. Sets share nodes and are immutable.
type Set []node

// find returns the node of e; ok is false if there is none.
func (s Set) find(e element) (n node, ok bool) {
	i, ok := s.search(e)
	if !ok {
		return node{}, false
	}
	return s[i], true
}

func (s Set) search(e element) (int, bool) {
	lo, hi := 0, len(s)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		switch c := compareElements(s[mid].element, e); {
		case c == 0:
			return mid, true
		case c < 0:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return lo, false
}

// sorted sorts the nodes of a set under construction.
func (s Set) sorted() Set {
	slices.SortFunc(s, func(a, b node) int { return compareElements(a.element, b.element) })
	return s
}

// merged sorts the nodes of a set under construction and merges nodes of the same element.
func (s Set) merged() Set {
	slices.SortStableFunc(s, func(a, b node) int { return compareElements(a.element, b.element) })
	out := s[:0]
	for len(s) > 0 {
		n, same := s[0], 1
		var kids []Set
		for ; same < len(s) && compareElements(s[same].element, n.element) == 0; same++ {
			n.mark |= s[same].mark
			kids = append(kids, s[same].kids)
		}
		if len(kids) > 0 {
			n.kids = unionAll(append(kids, n.kids))
		}
		out, s = append(out, n), s[same:]
	}
	return out
}

// unionAll returns the members of all sets. It merges pairs of results, so that each node is copied a
// logarithmic number of times.
func unionAll(sets []Set) Set {
	switch len(sets) {
	case 0:
		return nil
	case 1:
		return sets[0]
	}
	half := len(sets) / 2
	return union(unionAll(sets[:half]), unionAll(sets[half:]))
}

// union returns the members of a and b.
func union(a, b Set) Set {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	out := make(Set, 0, max(len(a), len(b)))
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch c := compareElements(a[i].element, b[j].element); {
		case c < 0:
			out = append(out, a[i])
			i++
		case c > 0:
			out = append(out, b[j])
			j++
		default:
			out = append(out, node{a[i].element, a[i].mark | b[j].mark, union(a[i].kids, b[j].kids)})
			i++
			j++
		}
	}
	return append(append(out, a[i:]...), b[j:]...)
}

// minus returns the members of a that are not in b, including those below members of b. If there is
// nothing to remove, changed is false and the result is a.
func minus(a, b Set) (out Set, changed bool) {
	return filterCommon(a, b, func(n, other node) (mark, Set) {
		kids, _ := minus(n.kids, other.kids)
		if other.mark != 0 {
			return 0, kids
		}
		return n.mark, kids
	})
}

// minusTrees is minus that also removes the members below members of b.
func minusTrees(a, b Set) (out Set, changed bool) {
	return filterCommon(a, b, func(n, other node) (mark, Set) {
		if other.mark != 0 {
			return 0, nil
		}
		kids, _ := minusTrees(n.kids, other.kids)
		return n.mark, kids
	})
}

// filterCommon replaces the nodes that both sets have. rest returns the mark and children that
// remain of n.
func filterCommon(a, b Set, rest func(n, other node) (mark, Set)) (out Set, changed bool) {
	from := 0 // the nodes of a before it are in out
	for i, j, ok := nextCommon(a, b, 0, 0); ok; i, j, ok = nextCommon(a, b, i+1, j+1) {
		n := a[i]
		m, kids := rest(n, b[j])
		if m == n.mark && identical(kids, n.kids) {
			continue
		}
		if !changed {
			changed = true
			out = make(Set, 0, len(a))
		}
		out = append(out, a[from:i]...)
		from = i + 1
		if m != 0 || len(kids) > 0 {
			out = append(out, node{n.element, m, kids})
		}
	}
	if !changed {
		return a, false
	}
	return append(out, a[from:]...), true
}

// nextCommon returns the indexes of the next element that both sets have, from i in a and from j in b
// on; ok is false if there is none.
func nextCommon(a, b Set, i, j int) (inA, inB int, ok bool) {
	for i < len(a) && j < len(b) {
		switch c := compareElements(a[i].element, b[j].element); {
		case c < 0:
			i = a.seek(i+1, b[j].element)
		case c > 0:
			j = b.seek(j+1, a[i].element)
		default:
			return i, j, true
		}
	}
	return 0, 0, false
}

// seek returns the index of the first node from i on that does not precede e. It doubles its steps, so
// that a short set is compared with a long one in about as many steps as the short one is long.
func (s Set) seek(i int, e element) int {
	step := 1
	for i+step <= len(s) && compareElements(s[i+step-1].element, e) < 0 {
		i += step
		step *= 2
	}
	lo, hi := i, min(i+step-1, len(s))
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if compareElements(s[mid].element, e) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// identical reports whether two sets share the same memory.
func identical(a, b Set) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// equalSets reports whether two Sets have the same members.
func equalSets(a, b Set) bool {
	return identical(a, b) || slices.EqualFunc(a, b, func(x, y node) bool {
		return x.element == y.element && x.mark == y.mark && equalSets(x.kids, y.kids)
	})
}

// intersect returns the members of a that b marks with any of m.
func intersect(a, b Set, m mark) Set {
	var out Set
	for i, j, ok := nextCommon(a, b, 0, 0); ok; i, j, ok = nextCommon(a, b, i+1, j+1) {
		n := node{element: a[i].element, kids: intersect(a[i].kids, b[j].kids, m)}
		if b[j].mark&m != 0 {
			n.mark = a[i].mark
		}
		if n.mark != 0 || len(n.kids) > 0 {
			out = append(out, n)
		}
	}
	return out
}

// marked returns the nodes of a difference with mark m as a Set.
func (s Set) marked(m mark) Set {
	var out Set
	changed := false
	for i, n := range s {
		kept := node{element: n.element, kids: n.kids.marked(m)}
		if n.mark&m != 0 {
			kept.mark = member
		}
		if !changed && (kept.mark != n.mark || !identical(kept.kids, n.kids)) {
			changed = true
			out = append(make(Set, 0, len(s)), s[:i]...)
		}
		if changed && (kept.mark != 0 || len(kept.kids) > 0) {
			out = append(out, kept)
		}
	}
	if !changed {
		return s
	}
	return out
}

// contains reports whether every member of b is a member of s.
func (s Set) contains(b Set) bool {
	rest, _ := minus(b, s)
	return len(rest) == 0
}

// each calls f with each member of s, parents first. f must not retain path.
func (s Set) each(path []element, f func(path []element)) {
	for _, n := range s {
		if n.mark != 0 {
			f(append(path, n.element))
		}
	}
	for _, n := range s {
		n.kids.each(append(path, n.element), f)
	}
}

// paths returns a Set of paths of field names.
func paths(list ...[]string) Set {
	var s Set
	for _, p := range list {
		var below Set
		m := member
		for i := len(p) - 1; i >= 0; i-- {
			below, m = Set{{field(p[i]), m, below}}, 0
		}
		s = union(s, below)
	}
	return s
}
