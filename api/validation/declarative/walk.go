package declarative

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/internal/gotype"
)

// Validate returns the errors of a new object, or of an update of old, which is nil for a new
// one. Both are of the type of the program, which may be nil.
func (p *Program) Validate(obj, old any) field.ErrorList {
	if p == nil {
		return nil
	}
	w := &walk{}
	var stored reflect.Value
	if old != nil {
		w.isUpdate, stored = true, reflect.ValueOf(old).Elem()
	}
	w.node(p.root, reflect.ValueOf(obj).Elem(), stored)
	return w.errs
}

// walk is one validation. A stored value, old, is the zero Value if none corresponds.
type walk struct {
	gotype.Location
	isUpdate bool
	errs     field.ErrorList
	// muted counts the rules in progress whose errors are not reported.
	muted int
}

// report records errors, and returns false, as the result of the rule.
func (w *walk) report(errs ...*field.Error) bool {
	if w.muted == 0 {
		w.errs = append(w.errs, errs...)
	}
	return false
}

// run applies a check.
func (w *walk) run(k check, v, old reflect.Value) bool {
	if !k.isSilent {
		return k.holds(w, v, old)
	}
	w.muted++
	ok := k.holds(w, v, old)
	w.muted--
	return ok
}

// runGroup applies the checks of a group. It returns false if a short-circuit rule failed.
func (w *walk) runGroup(g group, v, old reflect.Value) bool {
	proceeds := true
	for _, k := range g.circuit {
		proceeds = w.run(k, v, old) && proceeds
	}
	if proceeds {
		for _, k := range g.rest {
			w.run(k, v, old)
		}
	}
	return proceeds
}

// node validates a value, which is no pointer.
func (w *walk) node(n *node, v, old reflect.Value) {
	for _, k := range n.own {
		w.run(k, v, old)
	}
	for i := range n.fields {
		w.field(&n.fields[i], v, old)
	}
}

// field validates a field of the struct v.
func (w *walk) field(f *fieldNode, v, old reflect.Value) {
	v = v.FieldByIndex(f.index)
	if old.IsValid() {
		old = old.FieldByIndex(f.index)
		if f.isCompared && w.isUpdate && equal(v, old) {
			return
		}
	}
	if f.name != "" {
		w.Field(f.name)
		defer w.Leave()
	}
	for i, g := range f.groups {
		if !w.runGroup(g, v, old) && i == 0 {
			return
		}
	}
	w.value(f, v, old)
}

// value validates the value of a field, or its elements, by the rules of their type.
func (w *walk) value(f *fieldNode, v, old reflect.Value) {
	if f.value == nil && f.key == nil {
		return
	}
	if v, old = pointee(v), pointee(old); !v.IsValid() {
		return
	}
	switch f.kind {
	case reflect.Slice:
		w.elements(f.items, v, old, func(v, old reflect.Value) { w.node(f.value, v, old) })
	case reflect.Map:
		if f.value != nil {
			w.values(v, old, func(v, old reflect.Value) { w.node(f.value, v, old) })
		}
		if f.key != nil {
			w.keys(v, old, func(v reflect.Value) { w.node(f.key, v, reflect.Value{}) })
		}
	default:
		w.node(f.value, v, old)
	}
}

// elements calls validate for the elements of a list that an update changes or adds.
func (w *walk) elements(items correspondence, list, old reflect.Value, validate func(v, old reflect.Value)) {
	before := items.in(old)
	for i := range list.Len() {
		v := pointee(list.Index(i))
		if !v.IsValid() {
			continue
		}
		stored := before.find(v)
		if w.isUpdate && stored.IsValid() && (items.isSet || equal(v, stored)) {
			continue
		}
		w.Index(i)
		validate(v, stored)
		w.Leave()
	}
}

// values calls validate for the values of a map that an update changes or adds, in the order of
// their keys.
func (w *walk) values(m, old reflect.Value, validate func(v, old reflect.Value)) {
	for _, key := range sortedKeys(m) {
		v, stored := m.MapIndex(key), reflect.Value{}
		if old.IsValid() {
			stored = old.MapIndex(key)
		}
		if w.isUpdate && stored.IsValid() && equal(v, stored) {
			continue
		}
		w.Key(key.String())
		validate(pointee(v), pointee(stored))
		w.Leave()
	}
}

// keys calls validate for the keys of a map that an update adds. Their path is that of the map.
func (w *walk) keys(m, old reflect.Value, validate func(v reflect.Value)) {
	for _, key := range sortedKeys(m) {
		if !w.isUpdate || !old.IsValid() || !old.MapIndex(key).IsValid() {
			validate(key)
		}
	}
}

func sortedKeys(m reflect.Value) []reflect.Value {
	if m.Len() == 0 {
		return nil
	}
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

// pointee returns the value to which v points, or v itself if it is no pointer. It is the zero
// Value for a nil pointer.
func pointee(v reflect.Value) reflect.Value {
	for v.IsValid() && v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v
}

// equal reports whether two values of one type are semantically equal.
func equal(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.String:
		return a.String() == b.String()
	case reflect.Bool:
		return a.Bool() == b.Bool()
	case reflect.Int, reflect.Int32, reflect.Int64:
		return a.Int() == b.Int()
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		return a.UnsafePointer() == b.UnsafePointer() || equal(a.Elem(), b.Elem())
	case reflect.Struct:
		if a.CanAddr() && b.CanAddr() {
			return equality.Semantic.DeepEqual(a.Addr().Interface(), b.Addr().Interface())
		}
	}
	return equality.Semantic.DeepEqual(a.Interface(), b.Interface())
}
