package api

import "reflect"

// copyFields fills the struct that to points to from the fields of the same
// names of the one that from points to. The two may share memory afterwards. A
// field that the other has not, or has in a form that cannot hold it, is left
// alone.
func copyFields(to, from any) {
	copyValue(reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem())
}

func copyValue(to, from reflect.Value) {
	if to.Kind() != from.Kind() {
		return
	}
	// Types that differ in name and tags only hold the same as they are.
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
