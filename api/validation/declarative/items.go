package declarative

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/miniapiserver/miniapiserver/internal/gotype"
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
		f, ok := gotype.Member(t.Elem(), name)
		if !ok {
			return items, fmt.Errorf("%s has no field %s", t.Elem(), name)
		}
		items.keys = append(items.keys, f.Index)
	}
	return items, nil
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

// maxSearched is the length up to which a list is searched for an element, which is as fast as a map.
const maxSearched = 16

// elements finds the elements of a list that correspond to others.
type elements struct {
	c    correspondence
	list reflect.Value
	// at has the indexes of the elements by their hash; it is made for a long list when it is first used.
	at map[string][]int
}

// in returns the elements of a list, which may be the zero Value.
func (c correspondence) in(list reflect.Value) elements { return elements{c: c, list: list} }

// find returns the first element that corresponds to v, or the zero Value.
func (x *elements) find(v reflect.Value) reflect.Value {
	if !x.list.IsValid() || !x.c.isSet && len(x.c.keys) == 0 {
		return reflect.Value{}
	}
	if x.list.Len() <= maxSearched {
		for i := range x.list.Len() {
			if e := pointee(x.list.Index(i)); e.IsValid() && x.c.match(e, v) {
				return e
			}
		}
		return reflect.Value{}
	}
	if x.at == nil {
		x.at = make(map[string][]int, x.list.Len())
		for i := range x.list.Len() {
			if e := pointee(x.list.Index(i)); e.IsValid() {
				hash := x.c.hash(e)
				x.at[hash] = append(x.at[hash], i)
			}
		}
	}
	for _, i := range x.at[x.c.hash(v)] {
		if e := pointee(x.list.Index(i)); x.c.match(e, v) {
			return e
		}
	}
	return reflect.Value{}
}

// duplicates returns the indexes of elements that an earlier element corresponds to.
func (c correspondence) duplicates(list reflect.Value) (found []int) {
	if !c.isSet && len(c.keys) == 0 {
		return nil
	}
	var at map[string][]int
	if list.Len() > maxSearched {
		at = make(map[string][]int, list.Len())
	}
	for i := range list.Len() {
		v := pointee(list.Index(i))
		if !v.IsValid() {
			continue
		}
		if at == nil {
			if c.isAmong(list, v, i) {
				found = append(found, i)
			}
			continue
		}
		hash := c.hash(v)
		if slices.ContainsFunc(at[hash], func(j int) bool { return c.match(pointee(list.Index(j)), v) }) {
			found = append(found, i)
			continue
		}
		at[hash] = append(at[hash], i)
	}
	return found
}

// isAmong reports whether v corresponds to one of the first n elements of a list.
func (c correspondence) isAmong(list, v reflect.Value, n int) bool {
	for j := range n {
		if e := pointee(list.Index(j)); e.IsValid() && c.match(e, v) {
			return true
		}
	}
	return false
}

// hash returns a text that is equal for elements that correspond, and different for others if their keys
// are texts, numbers or booleans.
func (c correspondence) hash(v reflect.Value) string {
	if c.isSet {
		return string(appendHash(nil, v))
	}
	var b []byte
	for _, key := range c.keys {
		b = append(appendHash(b, v.FieldByIndex(key)), 0)
	}
	return string(b)
}

func appendHash(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.String:
		return append(append(b, 's'), v.String()...)
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10)
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, 'n')
		}
		return appendHash(append(b, 'p'), v.Elem())
	}
	return b
}
