package api

import (
	"reflect"
)

// CopyFields copies the fields of the struct at from to the fields of the same names in the
// struct at to, recursively. The structs may share memory afterwards. It skips fields that to
// does not have, or has with an incompatible type.
func CopyFields(to, from any) {
	copyValue(reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem())
}

func copyValue(to, from reflect.Value) {
	if to.Kind() != from.Kind() {
		return
	}
	// Types that differ only in name and tags need no recursion.
	if from.Type().ConvertibleTo(to.Type()) {
		to.Set(from.Convert(to.Type()))
		return
	}
	switch from.Kind() {
	case reflect.Struct:
		for i := range from.NumField() {
			if field := to.FieldByName(from.Type().Field(i).Name); field.IsValid() {
				copyValue(field, from.Field(i))
			}
		}
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(to.Type().Elem()))
			copyValue(to.Elem(), from.Elem())
		}
	case reflect.Slice:
		if !from.IsNil() {
			to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
			for i := range from.Len() {
				copyValue(to.Index(i), from.Index(i))
			}
		}
	case reflect.Map:
		copyMap(to, from)
	}
}

func copyMap(to, from reflect.Value) {
	if from.IsNil() {
		return
	}
	to.Set(reflect.MakeMapWithSize(to.Type(), from.Len()))
	for entries := from.MapRange(); entries.Next(); {
		key, value := reflect.New(to.Type().Key()).Elem(), reflect.New(to.Type().Elem()).Elem()
		copyValue(key, entries.Key())
		copyValue(value, entries.Value())
		to.SetMapIndex(key, value)
	}
}
