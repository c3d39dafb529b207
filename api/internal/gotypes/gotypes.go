// Package gotypes names the Go types of the API and their fields as the markers in their sources do.
// Packages api/gated and api/minor walk objects with it, along tables of such names.
package gotypes

import (
	"iter"
	"reflect"
	"strings"
)

// Fields returns the fields of a struct type that are in its JSON, with their names there. An
// embedded struct has no name.
func Fields(t reflect.Type) iter.Seq2[reflect.StructField, string] {
	return func(yield func(reflect.StructField, string) bool) {
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.IsExported() && name != "-" && (name != "" || f.Anonymous) && !yield(f, name) {
				return
			}
		}
	}
}

// Name returns the name of a type with that of its package: PACKAGE.TYPE.
func Name(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

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
