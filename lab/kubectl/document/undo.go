package document

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// edit is a change of a field that is undone.
type edit struct {
	path          Path
	before, after string
}

// list returns the path of the list that the edit has made longer or shorter, or nil.
func (e *edit) list() Path {
	if last := len(e.path) - 1; e.path[last].Index >= 0 && (e.before == "" || e.after == "") {
		return e.path[:last]
	}
	return nil
}

// Undo returns the state of an object before a change. It shares unchanged values with the object.
//
// The indexes in a change are those of the lists after it, except the index of an element that was removed, which is that before it.
// So values are put back first, while the lists are as they were after the change. Then each list gets its former elements and their
// order, a list within another before that one.
func Undo(object any, fields []v1alpha1.FieldChange) (any, error) {
	var lists []*formerList
	var err error
	listAt := func(path Path) *formerList {
		for _, l := range lists {
			if slices.Equal(l.path, path) {
				return l
			}
		}
		l := &formerList{path: path}
		lists = append(lists, l)
		return l
	}
	after := object
	for _, f := range fields {
		e := edit{before: f.Before, after: f.After}
		if e.path, err = ParsePath(after, f.Path); err != nil {
			return nil, err
		}
		if len(e.path) == 0 {
			return nil, fmt.Errorf("a change has no path")
		}
		list := e.list()
		keys, isOrder := formerOrder(after, &e)
		switch {
		case isOrder:
			listAt(e.path).order = keys
		case list != nil && e.before == "":
			l := listAt(list)
			l.came = append(l.came, e)
		case list != nil:
			l := listAt(list)
			l.gone = append(l.gone, e)
		case e.before == "":
			object, err = remove(object, e.path)
		default:
			object, err = set(object, e.path, formerValue(e.before))
		}
		if err != nil {
			return nil, fmt.Errorf("undoing %s: %w", e.path, err)
		}
	}
	slices.SortStableFunc(lists, func(a, b *formerList) int { return len(b.path) - len(a.path) })
	for _, l := range lists {
		if object, err = l.restore(object); err != nil {
			return nil, fmt.Errorf("undoing %s: %w", l.path, err)
		}
	}
	return object, nil
}

// formerList is what a change did to the elements of a list.
type formerList struct {
	path       Path
	came, gone []edit
	order      []any // keys of the elements that stayed, in the order before the change; nil if it is the same
}

// restore returns the object with the former elements of the list.
func (l *formerList) restore(object any) (any, error) {
	var err error
	slices.SortFunc(l.came, func(a, b edit) int { return compare(b.path, a.path) })
	for _, e := range l.came {
		if object, err = remove(object, e.path); err != nil {
			return nil, err
		}
	}
	value, _ := At(object, l.path)
	list, isList := value.([]any)
	if l.order != nil {
		if list, isList = ordered(list, l.order); !isList {
			return nil, fmt.Errorf("its elements are not those of the order %v", l.order)
		}
	}
	slices.SortFunc(l.gone, func(a, b edit) int { return compare(a.path, b.path) })
	for _, e := range l.gone {
		i := e.path[len(e.path)-1].Index
		if i > len(list) || value != nil && !isList {
			return nil, fmt.Errorf("there is no element %d", i)
		}
		list = slices.Insert(slices.Clip(list), i, formerValue(e.before))
	}
	if l.order == nil && l.gone == nil {
		return object, nil
	}
	return set(object, l.path, list)
}

// formerOrder returns the order of the elements of a list before a change, if an edit is about that: it has the keys of the elements,
// not the elements. An edit with all elements, which are scalars then, puts them back by itself.
func formerOrder(object any, e *edit) (keys []any, isOrder bool) {
	value, _ := At(object, e.path)
	list, isList := value.([]any)
	if !isList || e.before == "" || e.after == "" {
		return nil, false
	}
	before, hadList := formerValue(e.before).([]any)
	after, hasList := formerValue(e.after).([]any)
	if !hadList || !hasList || len(before) != len(after) || len(after) > len(list) || reflect.DeepEqual(after, value) {
		return nil, false
	}
	return before, true
}

// ordered returns a list in the order of the keys of its elements, which are scalars or have the keys in one of their fields.
func ordered(list, keys []any) ([]any, bool) {
	if out, ok := orderedBy(list, keys, func(element any) any { return element }); ok {
		return out, true
	}
	if len(list) == 0 {
		return nil, false
	}
	first, _ := list[0].(map[string]any)
	for field := range first {
		out, ok := orderedBy(list, keys, func(element any) any {
			fields, _ := element.(map[string]any)
			return fields[field]
		})
		if ok {
			return out, true
		}
	}
	return nil, false
}

func orderedBy(list, keys []any, keyOf func(any) any) ([]any, bool) {
	if len(list) != len(keys) {
		return nil, false
	}
	at := make(map[any]int, len(list))
	for i, element := range list {
		key := keyOf(element)
		switch key.(type) {
		case nil, map[string]any, []any:
			return nil, false
		}
		at[key] = i
	}
	out := make([]any, 0, len(list))
	for _, key := range keys {
		switch key.(type) {
		case map[string]any, []any:
			return nil, false
		}
		i, found := at[key]
		if !found {
			return nil, false
		}
		delete(at, key)
		out = append(out, list[i])
	}
	return out, true
}

// formerValue returns the value before a change. Of a confidential value the server keeps a remark alone, which takes its place.
func formerValue(text string) any {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	return value
}

// compare orders paths, elements of lists by index.
func compare(a, b Path) int {
	return slices.CompareFunc(a, b, func(x, y Step) int {
		switch {
		case x.Index != y.Index:
			return x.Index - y.Index
		case x.Field < y.Field:
			return -1
		case x.Field > y.Field:
			return 1
		}
		return 0
	})
}
