package declarative

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// correspondence says which element of the stored list an element of a list corresponds to. The
// zero value means none.
type correspondence struct {
	// keys are the fields that identify an element, or isSet: elements are identified by value.
	keys  [][]int
	isSet bool
}

// correspondenceOf returns the correspondence of the elements of a field of type t.
func correspondenceOf(t reflect.Type, rules []rule) (correspondence, error) {
	var items correspondence
	at := slices.IndexFunc(rules, func(r rule) bool { return r.name == "items" })
	if at < 0 {
		return items, nil
	}
	if t.Kind() != reflect.Slice {
		return items, fmt.Errorf("items of %s", t)
	}
	if items.isSet = rules[at].payload == "set"; items.isSet {
		return items, nil
	}
	_, keys, _ := split(rules[at].payload) // map(name,driver)
	for name := range strings.SplitSeq(keys, ",") {
		f, ok := fieldByJSON(t.Elem(), name)
		if !ok {
			return items, fmt.Errorf("%s has no field %s", t.Elem(), name)
		}
		items.keys = append(items.keys, f.Index)
	}
	return items, nil
}

// fieldByJSON returns the field of a struct type with a name in JSON.
func fieldByJSON(t reflect.Type, name string) (reflect.StructField, bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct {
		for _, f := range reflect.VisibleFields(t) {
			if jsonName(f) == name {
				return f, true
			}
		}
	}
	return reflect.StructField{}, false
}

// match reports whether two elements correspond.
func (c correspondence) match(a, b reflect.Value) bool {
	if c.isSet {
		return equal(a, b)
	}
	for _, key := range c.keys {
		if !equal(a.FieldByIndex(key), b.FieldByIndex(key)) {
			return false
		}
	}
	return len(c.keys) > 0
}

// find returns the first element of a list, which may be the zero Value, that corresponds to v.
func (c correspondence) find(list, v reflect.Value) reflect.Value {
	if !list.IsValid() || !c.isSet && len(c.keys) == 0 {
		return reflect.Value{}
	}
	for i := range list.Len() {
		if e := pointee(list.Index(i)); e.IsValid() && c.match(e, v) {
			return e
		}
	}
	return reflect.Value{}
}

// duplicates returns the indexes of elements that an earlier element corresponds to.
func (c correspondence) duplicates(list reflect.Value) (found []int) {
	for i := range list.Len() {
		v := pointee(list.Index(i))
		for j := range i {
			if e := pointee(list.Index(j)); v.IsValid() && e.IsValid() && c.match(e, v) {
				found = append(found, i)
				break
			}
		}
	}
	return found
}
