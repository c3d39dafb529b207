package gotype

import (
	"encoding"
	"encoding/json"
	"reflect"
)

// Name returns the name of a type with the path of its package: PACKAGE.TYPE.
func Name(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

// Deref returns the type to which pointers of type t lead in the end, or t itself.
func Deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// Element returns the type of the values below pointers, lists and maps.
func Element(t reflect.Type) reflect.Type {
	for {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			t = t.Elem()
		default:
			return t
		}
	}
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	unstructurer  = reflect.TypeFor[interface{ ToUnstructured() any }]()
)

// HasOwnJSON reports whether values of a type, or pointers to them, implement their own conversion to
// JSON.
func HasOwnJSON(t reflect.Type) bool {
	if t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface {
		t = reflect.PointerTo(t) // which has the methods of t as well
	}
	return t.Implements(marshaler) || t.Implements(textMarshaler) || t.Implements(unstructurer)
}

// Addressable returns v, or a copy of v if v is not addressable, as the values of maps.
func Addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	return out
}

// IsRecursive reports whether values of a type can contain values of a struct type that contain others of
// the same type, in exported fields.
func IsRecursive(t reflect.Type) bool { return isRecursive(t, map[reflect.Type]bool{}) }

// isRecursive is IsRecursive. isOpen has true for the types around a value, and false for the types that
// are known not to be recursive.
func isRecursive(t reflect.Type, isOpen map[reflect.Type]bool) bool {
	if t = Element(t); t.Kind() != reflect.Struct {
		return false
	}
	if around, ok := isOpen[t]; ok {
		return around
	}
	isOpen[t] = true
	for _, f := range Fields(t) {
		if isRecursive(f.Type, isOpen) {
			return true
		}
	}
	isOpen[t] = false
	return false
}
