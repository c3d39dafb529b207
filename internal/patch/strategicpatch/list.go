package strategicpatch

import (
	"container/heap"
	"errors"
	"fmt"
	"reflect"
	"sort"

	"k8s.io/apimachinery/pkg/util/mergepatch"
	library "k8s.io/apimachinery/pkg/util/strategicpatch"
)

// mergeList merges the list of a patch into that of an object. Like the library it reuses
// the array of original if it has room, because elements that remain there affect the order
// of the result.
func (m *merger) mergeList(original, patch []any, f field, isDeletion bool) ([]any, error) {
	switch {
	case f.strategy != mergeValue && !isDeletion:
		return patch, nil
	case len(original) == 0 && len(patch) == 0:
		return original, nil
	}
	if err := m.visit(len(original) + len(patch)); err != nil {
		return nil, err
	}
	areMaps, err := elementsAreMaps(original, patch)
	var merged []any
	switch {
	case err != nil:
		return nil, err
	case !areMaps && isDeletion:
		return without(original, patch), nil
	case !areMaps:
		merged = deduplicated(append(original, patch...))
	case f.mergeKey == "":
		return nil, fmt.Errorf("cannot merge lists without merge key for %s", f.schema.Name())
	default:
		if original, patch, err = followDirectives(original, patch, f.mergeKey); err != nil {
			return nil, err
		}
		if merged, err = m.mergeElements(original, patch, f.mergeKey, f.schema); err != nil {
			return nil, err
		}
	}
	patched, others, err := partition(merged, patch, f.mergeKey)
	if err != nil {
		return nil, err
	}
	return arrange(patched, others, patch, original, f.mergeKey, areMaps)
}

// elementsAreMaps reports whether the elements of two lists are objects. All elements
// must be of the same type.
func elementsAreMaps(lists ...[]any) (bool, error) {
	var first reflect.Type
	for _, list := range lists {
		for _, v := range list {
			t := reflect.TypeOf(v)
			switch {
			case first != nil && t != first:
				return false, fmt.Errorf("list element types are not identical: %v", fmt.Sprint(lists))
			case first != nil:
			case t == nil:
				return false, errNullElement
			case t.Kind() == reflect.Slice:
				return false, mergepatch.ErrNoListOfLists
			default:
				first = t
			}
		}
	}
	if first == nil {
		return false, errors.New("no elements in any of the given slices")
	}
	return first.Kind() == reflect.Map, nil
}

// without returns the scalars of a list that are not in another list.
func without(list, remove []any) []any {
	removed := make(map[any]bool, len(remove))
	for _, v := range remove {
		removed[v] = true
	}
	out := make([]any, 0, len(list))
	for _, v := range list {
		if !removed[v] {
			out = append(out, v)
		}
	}
	return out
}

// deduplicated removes duplicates from a list of scalars, within its array. As in the
// library, each duplicate is replaced by the last element.
func deduplicated(s []any) []any {
	seen := make(map[any]bool, len(s))
	for _, v := range s {
		seen[v] = true
	}
	if len(seen) == len(s) {
		return s
	}
	positions := make(map[any]*intHeap, len(seen))
	for i, v := range s {
		if positions[v] == nil {
			positions[v] = &intHeap{}
		}
		heap.Push(positions[v], i)
	}
	for i := 0; i < len(s); i++ {
		at := positions[s[i]]
		for at.Len() > 0 && at.IntSlice[0] < len(s) {
			j, last := heap.Pop(at).(int), len(s)-1
			if j == i {
				continue
			}
			s[j] = s[last]
			s = s[:last]
			if j < last {
				heap.Push(positions[s[j]], j)
			}
		}
	}
	return s
}

// intHeap is a heap of positions.
type intHeap struct{ sort.IntSlice }

func (h *intHeap) Push(v any) { h.IntSlice = append(h.IntSlice, v.(int)) }

func (h *intHeap) Pop() any {
	last := len(h.IntSlice) - 1
	v := h.IntSlice[last]
	h.IntSlice = h.IntSlice[:last]
	return v
}

// followDirectives follows the directives $patch of a patch's elements. It returns
// the object's list with the deletions, and the patch's elements without directives.
func followDirectives(original, patch []any, mergeKey string) (list, changes []any, err error) {
	changes = make([]any, 0, len(patch))
	var d *deletion
	replace := false
	for _, v := range patch {
		element := v.(map[string]any)
		directive, ok := element[patchDirective]
		switch {
		case !ok:
			changes = append(changes, v)
		case directive == deleteValue:
			value, ok := element[mergeKey]
			if !ok {
				return nil, nil, errNoMergeKey(element, mergeKey)
			}
			if d == nil {
				d = newDeletion(original, mergeKey)
			}
			if err := d.deleteAll(value); err != nil {
				return nil, nil, err
			}
		case directive == replaceValue:
			replace = true
		case directive == mergeValue:
			return nil, nil, errors.New("merging lists cannot yet be specified in the patch")
		default:
			return nil, nil, mergepatch.ErrBadPatchType(directive, element)
		}
	}
	if d != nil {
		original = d.finish()
	}
	if replace {
		return changes, nil, nil
	}
	return original, changes, nil
}

// mergeElements merges the elements of a patch, objects without directives, into a
// list: into the first element with the same merge key, or else at the end.
func (m *merger) mergeElements(list, patch []any, mergeKey string, schema library.LookupPatchMeta) ([]any, error) {
	if len(patch) == 0 {
		return list, nil
	}
	x := newKeyIndex(list, mergeKey)
	for _, v := range patch {
		change := v.(map[string]any)
		value, ok := change[mergeKey]
		if !ok {
			return nil, errNoMergeKey(change, mergeKey)
		}
		at, err := x.find(value)
		if err != nil {
			return nil, err
		}
		if at < 0 {
			list = append(list, v)
			x.append(v)
			continue
		}
		merged, err := m.mergeMap(list[at].(map[string]any), change, schema)
		if err != nil {
			return nil, err
		}
		list[at] = merged
		if _, ok := merged[mergeKey]; !ok {
			x.remove(value) // the merge key was null, which removed it
		}
	}
	return list, nil
}
