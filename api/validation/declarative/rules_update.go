package declarative

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// updateRule compiles the constraints of updates of a field of type t, such as NoSet,NoUnset. The
// field is only checked if an update changes it.
func updateRule(t reflect.Type, items correspondence, constraints string) (func(w *walk, v, old reflect.Value) bool, error) {
	var rules []func(w *walk, v, old reflect.Value) bool
	for name := range strings.SplitSeq(constraints, ",") {
		r := updateConstraint(t, items, name)
		if r == nil {
			return nil, fmt.Errorf("update=%s of %s", name, t)
		}
		rules = append(rules, r)
	}
	needsOld := t.Kind() != reflect.Pointer && t.Kind() != reflect.Slice && t.Kind() != reflect.Map
	return func(w *walk, v, old reflect.Value) bool {
		ok := true
		if w.isUpdate && (old.IsValid() || !needsOld) {
			for _, r := range rules {
				ok = r(w, v, old) && ok
			}
		}
		return ok
	}, nil
}

func updateConstraint(t reflect.Type, items correspondence, name string) func(w *walk, v, old reflect.Value) bool {
	isStruct := t.Kind() == reflect.Struct
	switch {
	case name == "NoSet" && !isStruct:
		return func(w *walk, v, old reflect.Value) bool {
			return !isEmpty(old) || isEmpty(v) || w.reportUpdate("field cannot be set once created")
		}
	case name == "NoUnset" && !isStruct:
		return func(w *walk, v, old reflect.Value) bool {
			return isEmpty(old) || !isEmpty(v) || w.reportUpdate("field cannot be cleared once set")
		}
	case name == "NoModify":
		return func(w *walk, v, old reflect.Value) bool {
			return !isStruct && (isEmpty(old) || isEmpty(v)) || w.reportUpdate("field cannot be modified once set")
		}
	case name == "NoAddItem" && t.Kind() == reflect.Slice:
		return func(w *walk, v, old reflect.Value) bool {
			return w.missing(items, v, old, func(i int) *field.Path { return w.Path().Index(i) }, "item may not be added")
		}
	case name == "NoRemoveItem" && t.Kind() == reflect.Slice:
		return func(w *walk, v, old reflect.Value) bool {
			return !old.IsValid() || w.missing(items, old, v, func(int) *field.Path { return w.Path() }, "item may not be removed")
		}
	}
	return nil
}

func (w *walk) reportUpdate(message string) bool {
	return w.report(field.Invalid(w.Path(), nil, message).WithOrigin("update"))
}

// missing reports the elements of list to which no element of other corresponds.
func (w *walk) missing(items correspondence, list, other reflect.Value, path func(i int) *field.Path, message string) bool {
	ok, others := true, items.in(other)
	for i := range list.Len() {
		if e := pointee(list.Index(i)); e.IsValid() && !others.find(e).IsValid() {
			ok = w.report(field.Forbidden(path(i), message).WithOrigin("update"))
		}
	}
	return ok
}
