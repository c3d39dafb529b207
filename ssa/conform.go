package ssa

import (
	"maps"
	"reflect"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/miniapiserver/miniapiserver/api"
)

// maxCheckedItems is the number of items of a list in which the library looks for faults. It inserts
// each item into a sorted list, at a cost of the square of their number.
const maxCheckedItems = 5000

// checkObject is checkType for an object of version v. content is its decoded JSON, or nil for an
// object with a Go type, whose only fault can be an item of an associative list that has no key.
func (v *view) checkObject(obj api.Object, content map[string]any) error {
	switch {
	case v.plan == nil:
		return v.checkType(content)
	case reflect.TypeOf(obj) != reflect.TypeOf(v.empty) || !v.plan.lacksKey(reflect.ValueOf(obj)):
		return nil
	case content == nil:
		var err error
		if content, err = v.content(obj); err != nil {
			return err
		}
	}
	return v.describeFault(content, typed.AllowDuplicates)
}

// checkDistinctObject is checkDistinct for an object of version v.
func (v *view) checkDistinctObject(obj api.Object) error {
	content, err := v.content(obj)
	if err != nil {
		return err
	}
	return v.checkDistinct(content)
}

// checkType returns an error if the schema does not allow an object, which a stored object and the
// object of a write that keeps its faults may be. Their fields cannot be owned.
func (v *view) checkType(content map[string]any) error {
	if v.root.conforms(content) {
		return nil
	}
	return v.describeFault(content, typed.AllowDuplicates)
}

// checkDistinct is checkType for objects that may have no duplicate items of associative lists.
func (v *view) checkDistinct(content map[string]any) error {
	if v.root.conforms(content) && v.root.isDistinct(content) {
		return nil
	}
	return v.describeFault(content)
}

// describeFault returns the library's error for an object that may not match the schema.
func (v *view) describeFault(content map[string]any, options ...typed.ValidationOptions) error {
	short, isCut := v.root.withShortLists(content)
	_, err := v.parse.FromUnstructured(short, options...)
	if err == nil && isCut {
		err = errorf("a list has more than %d items, and one of the others is a duplicate, has no key, or does not match the schema", maxCheckedItems)
	}
	return err
}

// conforms reports whether the schema allows v and the values within it. Null is allowed everywhere.
func (t *Type) conforms(v any) bool {
	switch x := v.(type) {
	case nil:
		return true
	case map[string]any:
		if t.object == nil {
			return false
		}
		for name, y := range x {
			if ft, _ := t.object.fieldType(name); ft == nil || !ft.conforms(y) {
				return false
			}
		}
		return true
	case []any:
		return t.list != nil && !slices.ContainsFunc(x, func(y any) bool { return !t.list.item.conforms(y) })
	case string:
		return t.allowsScalar(schema.String)
	case bool:
		return t.allowsScalar(schema.Boolean)
	}
	return t.allowsScalar(schema.Numeric)
}

func (t *Type) allowsScalar(s schema.Scalar) bool {
	return t.scalar && (t.scalarType == s || t.scalarType == schema.Untyped)
}

// isDistinct reports whether the items of all associative lists in v, which conforms to t, have an element,
// and one that no other item of the list has.
func (t *Type) isDistinct(v any) bool {
	switch x := v.(type) {
	case map[string]any:
		for name, y := range x {
			if ft, _ := t.object.fieldType(name); !ft.isDistinct(y) {
				return false
			}
		}
	case []any:
		if !t.list.atomic {
			if _, _, err := t.list.elements(x, false); err != nil {
				return false
			}
		}
		return !slices.ContainsFunc(x, func(y any) bool { return !t.list.item.isDistinct(y) })
	}
	return true
}

// withShortLists returns v with the first items of its long associative lists, and whether there are any.
func (t *Type) withShortLists(v any) (short any, isCut bool) {
	switch x := v.(type) {
	case map[string]any:
		if t == nil || t.object == nil {
			return v, false
		}
		var out map[string]any
		for name, y := range x {
			ft, _ := t.object.fieldType(name)
			if z, cut := ft.withShortLists(y); cut {
				if out == nil {
					out = maps.Clone(x)
				}
				out[name] = z
			}
		}
		if out != nil {
			return out, true
		}
	case []any:
		if t == nil || t.list == nil {
			return v, false
		}
		kept := x
		if !t.list.atomic && len(x) > maxCheckedItems {
			kept, isCut = x[:maxCheckedItems:maxCheckedItems], true
		}
		for i := range kept {
			if y, cut := t.list.item.withShortLists(kept[i]); cut {
				if &kept[0] == &x[0] {
					kept = slices.Clone(kept)
				}
				kept[i], isCut = y, true
			}
		}
		if isCut {
			return kept, true
		}
	}
	return v, false
}
