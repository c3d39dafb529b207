package strategicpatch

import (
	"fmt"
	"math"
)

// none is the position of an element that does not exist.
const none = math.MaxInt

// index has the positions of the elements of a list by value: the value of the merge key
// or, for a list of scalars, the element itself.
type index struct {
	mergeKey string
	isScalar bool
	first    map[any]int
	// next has, for each element, the position of the next element with the same value, or
	// -1.
	next []int
	// firstMap and firstList are the positions of the first elements whose value is an
	// object or a list, which cannot be compared.
	firstMap, firstList int
	// notMap is the position of the first element that is not an object and so has no merge
	// key.
	notMap int
}

func newKeyIndex(list []any, mergeKey string) *index {
	return (&index{mergeKey: mergeKey}).fill(list)
}

func newScalarIndex(list []any) *index {
	return (&index{isScalar: true}).fill(list)
}

func (x *index) fill(list []any) *index {
	x.first = make(map[any]int, len(list))
	x.next = make([]int, len(list), len(list)+1)
	x.firstMap, x.firstList, x.notMap = none, none, none
	for i := len(list) - 1; i >= 0; i-- {
		x.set(i, list[i])
	}
	return x
}

// set adds an element that precedes those in the index.
func (x *index) set(i int, element any) {
	x.next[i] = -1
	value, ok := x.value(element)
	if !ok {
		if _, isMap := element.(map[string]any); !isMap {
			x.notMap = i
		}
		return
	}
	switch value.(type) {
	case map[string]any:
		x.firstMap = i
	case []any:
		x.firstList = i
	default:
		if next, ok := x.first[value]; ok {
			x.next[i] = next
		}
		x.first[value] = i
	}
}

// append adds an element after the others, whose value is not in the index.
func (x *index) append(element any) {
	i := len(x.next)
	x.next = append(x.next, -1)
	x.set(i, element)
}

// value returns the value of an element, and reports whether it has one.
func (x *index) value(element any) (any, bool) {
	if x.isScalar {
		return element, true
	}
	m, ok := element.(map[string]any)
	if !ok {
		return nil, false
	}
	value, ok := m[x.mergeKey]
	return value, ok
}

// find returns the position of the first element with a value, or -1.
func (x *index) find(value any) (int, error) {
	switch value.(type) {
	case map[string]any:
		if x.firstMap < x.notMap {
			return 0, errIncomparable
		}
	case []any:
		if x.firstList < x.notMap {
			return 0, errIncomparable
		}
	default:
		if i, ok := x.first[value]; ok && i < x.notMap {
			return i, nil
		}
	}
	if x.notMap != none {
		return 0, fmt.Errorf("value for key %v is not a map", x.notMap)
	}
	return -1, nil
}

// remove removes the first element with a value.
func (x *index) remove(value any) {
	i, ok := x.first[value]
	switch {
	case !ok:
	case x.next[i] < 0:
		delete(x.first, value)
	default:
		x.first[value] = x.next[i]
	}
}

// isComparable reports whether a JSON value can be compared with ==.
func isComparable(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// deletion deletes elements from a list of objects.
type deletion struct {
	list    []any
	index   *index
	deleted []bool
	// last is the position of the last element that is not deleted.
	last int
	// rest has, for each deletion, the element that was then the last one.
	rest []any
}

func newDeletion(list []any, mergeKey string) *deletion {
	return &deletion{list: list, index: newKeyIndex(list, mergeKey), deleted: make([]bool, len(list)), last: len(list) - 1}
}

// deleteAll deletes the elements with a merge key.
func (d *deletion) deleteAll(value any) error {
	i, err := d.index.find(value)
	if err != nil || i < 0 {
		return err
	}
	for ; i >= 0; i = d.index.next[i] {
		d.rest = append(d.rest, d.list[d.last])
		d.deleted[i] = true
		for d.last >= 0 && d.deleted[d.last] {
			d.last--
		}
	}
	delete(d.index.first, value)
	return nil
}

// finish returns the remaining elements, in the array of the list. The library closes the
// gap of each deletion, which leaves a second copy of the last element at the end of the
// array. That copy affects the order of the merged list, so it is reproduced here.
func (d *deletion) finish() []any {
	n := 0
	for i, v := range d.list {
		if !d.deleted[i] {
			d.list[n] = v
			n++
		}
	}
	for i, v := range d.rest {
		d.list[len(d.list)-1-i] = v
	}
	return d.list[:n]
}
