package strategicpatch

import (
	"fmt"
	"sort"
)

// checkOrder checks that the elements of a patch's list are in the order of its directive
// $setElementOrder.
func checkOrder(patch, order []any, mergeKey string) error {
	if len(patch) == 0 || len(order) == 0 {
		return nil
	}
	elements := patch
	if mergeKey != "" {
		var err error
		if elements, _, err = splitDeletions(patch); err != nil {
			return err
		}
	}
	i, j := 0, 0
	for i < len(elements) && j < len(order) {
		if m, ok := elements[i].(map[string]any); ok {
			if _, ok := m[patchDirective]; ok {
				i++
				continue
			}
		}
		equal, err := equalKeys(elements[i], order[j], mergeKey)
		if err != nil {
			return err
		}
		if equal {
			i++
		}
		j++
	}
	if i < len(elements) && j >= len(order) {
		//lint:ignore ST1005 the library's words
		return fmt.Errorf("The order in patch list:\n%v\n doesn't match %s list:\n%v\n", patch, elementOrderDirective, order)
	}
	return nil
}

// equalKeys reports whether two elements have the same merge key or, without one, are
// equal.
func equalKeys(a, b any, mergeKey string) (bool, error) {
	if mergeKey != "" {
		left, ok := a.(map[string]any)
		if !ok {
			return false, errType(left, a)
		}
		right, ok := b.(map[string]any)
		if !ok {
			return false, errType(right, b)
		}
		var err error
		if a, err = keyOf(left, mergeKey); err != nil {
			return false, err
		}
		if b, err = keyOf(right, mergeKey); err != nil {
			return false, err
		}
	}
	switch a.(type) {
	case map[string]any:
		if _, ok := b.(map[string]any); ok {
			return false, errIncomparable
		}
		return false, nil
	case []any:
		if _, ok := b.([]any); ok {
			return false, errIncomparable
		}
		return false, nil
	}
	return a == b, nil
}

// keyOf returns the merge key of an element.
func keyOf(element any, mergeKey string) (any, error) {
	m, ok := element.(map[string]any)
	if !ok {
		return nil, errType(m, element)
	}
	value, ok := m[mergeKey]
	if !ok {
		return nil, errNoMergeKey(m, mergeKey)
	}
	return value, nil
}

// splitDeletions separates the objects with the directive to delete them.
func splitDeletions(list []any) (others, deletions []any, err error) {
	for _, v := range list {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, nil, errType(m, v)
		}
		if m[patchDirective] == deleteValue {
			deletions = append(deletions, v)
		} else {
			others = append(others, v)
		}
	}
	return others, deletions, nil
}

// partition splits a list into the elements that are in order, and the others.
func partition(list, order []any, mergeKey string) (ordered, others []any, err error) {
	var x *index
	if mergeKey == "" {
		x = newScalarIndex(order)
		if x.firstMap != none || x.firstList != none {
			return nil, nil, errIncomparable
		}
	} else {
		x = newKeyIndex(order, mergeKey)
	}
	ordered, others = make([]any, 0, len(list)), make([]any, 0, len(list))
	for _, v := range list {
		value := v
		if mergeKey != "" {
			if value, err = keyOf(v, mergeKey); err != nil {
				return nil, nil, err
			}
		} else if !isComparable(v) {
			return nil, nil, errIncomparable
		}
		at, err := x.find(value)
		switch {
		case err != nil:
			return nil, nil, err
		case at >= 0:
			ordered = append(ordered, v)
		default:
			others = append(others, v)
		}
	}
	return ordered, others, nil
}

// arrange returns the elements of a merged list in their order: the patched ones as in the
// patch, the others as in the object, and each of the others before the patched elements
// that follow it in the object.
func arrange(patched, others, patchOrder, objectOrder []any, mergeKey string, areMaps bool) ([]any, error) {
	patched, err := sorted(patched, &order{list: patchOrder, mergeKey: mergeKey, areMaps: areMaps})
	if err != nil {
		return nil, err
	}
	object := &order{list: objectOrder, mergeKey: mergeKey, areMaps: areMaps}
	if others, err = sorted(others, object); err != nil {
		return nil, err
	}
	return interleaved(others, patched, object)
}

// order ranks elements by their positions in a list.
type order struct {
	list     []any
	mergeKey string
	areMaps  bool
	index    *index
}

// rank returns the rank of an element in an order: its position, unranked if the
// order does not have it, or incomparable.
func (o *order) rank(element any) int {
	if o.index == nil && o.areMaps {
		o.index = newKeyIndex(o.list, o.mergeKey)
	} else if o.index == nil {
		o.index = newScalarIndex(o.list)
	}
	value, _ := o.index.value(element)
	at, err := o.index.find(value)
	if err != nil {
		return incomparable
	}
	return at
}

const (
	unranked     = -1
	incomparable = -2
)

type ranked struct {
	element any
	rank    int
}

// sorted sorts elements by an order. If the order does not have all elements, the result
// depends on the steps of the sort, which are the library's.
func sorted(list []any, o *order) ([]any, error) {
	var deletions []any
	if o.areMaps {
		for _, l := range [][]any{list, o.list} {
			for _, v := range l {
				if _, err := keyOf(v, o.mergeKey); err != nil {
					return nil, err
				}
			}
		}
		var err error
		if list, deletions, err = splitDeletions(list); err != nil {
			return nil, err
		}
	}
	if len(list) < 2 {
		return append(list, deletions...), nil
	}
	items := make([]ranked, len(list))
	inOrder := true
	for i, v := range list {
		items[i] = ranked{v, o.rank(v)}
		inOrder = inOrder && items[i].rank >= 0 && (i == 0 || items[i-1].rank <= items[i].rank)
	}
	if inOrder {
		return append(list, deletions...), nil
	}
	failed := false
	sort.SliceStable(items, func(i, j int) bool {
		a, b := items[i].rank, items[j].rank
		failed = failed || a == incomparable || a >= 0 && b == incomparable
		return a < 0 || b < 0 || a < b
	})
	if failed {
		return nil, errIncomparable
	}
	out := make([]any, 0, len(list)+len(deletions))
	for _, item := range items {
		out = append(out, item.element)
	}
	return append(out, deletions...), nil
}

// interleaved inserts the elements that only the object has between the patched ones: each
// before the first patched element that follows it in the object.
func interleaved(others, patched []any, object *order) ([]any, error) {
	out := make([]any, 0, len(others)+len(patched))
	for len(others) > 0 && len(patched) > 0 {
		a, b := object.rank(others[0]), object.rank(patched[0])
		switch {
		case a == incomparable || b == incomparable:
			return nil, errIncomparable
		case a >= 0 && b >= 0 && a < b:
			out, others = append(out, others[0]), others[1:]
		default:
			out, patched = append(out, patched[0]), patched[1:]
		}
	}
	return append(append(out, others...), patched...), nil
}
