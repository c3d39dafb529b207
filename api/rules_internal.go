package api

import (
	"encoding/json"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/diff"
)

// kube-apiserver shows values in messages as its internal types print, which
// have the fields of the published types but no JSON names. unnamed makes that
// form of a value of k8s.io/api: every field by its Go name, empty ones too.
// Types of apimachinery are the same in both and keep their names.
func unnamed(value any) any { return unnamedValue(reflect.ValueOf(value)) }

// InternalDiff returns how b differs from a, as kube-apiserver's messages show
// the difference of two objects of its internal types.
func InternalDiff(a, b any) string { return diff.Diff(unnamed(a), unnamed(b)) }

// orderedFields is a JSON object that keeps the order of its members.
type orderedFields []orderedField

type orderedField struct {
	name  string
	value any
}

// MarshalJSON writes the fields in their order.
func (o orderedFields) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, f := range o {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := json.Marshal(f.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), nil
}

func unnamedValue(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Invalid:
		return nil
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		if _, ok := v.Interface().(json.Marshaler); ok && !published(v.Type().Elem()) {
			return v.Interface()
		}
		return unnamedValue(v.Elem())
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8 {
			return v.Interface()
		}
		list := make([]any, v.Len())
		for i := range list {
			list[i] = unnamedValue(v.Index(i))
		}
		return list
	case reflect.Map:
		return unnamedMap(v)
	case reflect.Struct:
		if isPodSpec(v) {
			return unnamedPodSpec(v)
		}
		if published(v.Type()) {
			return unnamedStruct(v)
		}
	}
	return v.Interface()
}

func unnamedMap(v reflect.Value) any {
	if v.IsNil() || v.Type().Key().Kind() != reflect.String {
		return v.Interface()
	}
	m := make(map[string]any, v.Len())
	for it := v.MapRange(); it.Next(); {
		m[it.Key().String()] = unnamedValue(it.Value())
	}
	return m
}

// unnamedStruct gives embedded structs' fields the place of their own.
func unnamedStruct(v reflect.Value) orderedFields {
	fields := make(orderedFields, 0, v.NumField())
	for i := range v.NumField() {
		switch f := v.Type().Field(i); {
		case f.Name == "ObjectMeta":
			fields = append(fields, metadataFields(v.Field(i))...)
		case f.Anonymous && f.Type.Kind() == reflect.Struct && published(f.Type):
			fields = append(fields, unnamedStruct(v.Field(i))...)
		default:
			fields = append(fields, orderedField{f.Name, unnamedValue(v.Field(i))})
		}
	}
	return fields
}

// metadataFields are those of the metadata of a template, which stands embedded
// in the internal type and so without a name of its own.
func metadataFields(v reflect.Value) orderedFields {
	var fields orderedFields
	for i := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if strings.Contains(options, "omitempty") && v.Field(i).IsZero() || strings.Contains(options, "omitzero") && v.Field(i).IsZero() {
			continue
		}
		fields = append(fields, orderedField{name, v.Field(i).Interface()})
	}
	return fields
}

// published tells types of k8s.io/api from those of other packages.
func published(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && strings.HasPrefix(t.PkgPath(), "k8s.io/api/")
}
