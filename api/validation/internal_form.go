package validation

import (
	"encoding/json"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/diff"

	"github.com/miniapiserver/miniapiserver/internal/gotype"
)

// InternalForm converts a value of a published type to the form in which messages of
// kube-apiserver quote it. kube-apiserver validates internal types, which have no JSON
// names: a message shows every field by its Go name, even if it is empty, in the order of
// the internal type. Types of apimachinery are equal in both and keep their JSON names.
// Every method of Path that quotes a value applies InternalForm.
func InternalForm(value any) any {
	v := reflect.ValueOf(value)
	if !quotesStruct(v.Kind()) {
		return value
	}
	return internalFormOf(v)
}

// quotesStruct reports whether a value of this kind can contain a struct.
func quotesStruct(k reflect.Kind) bool {
	switch k {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Struct:
		return true
	}
	return false
}

// InternalDiff returns how b differs from a, as kube-apiserver's messages show
// the difference of two objects of its internal types.
func InternalDiff(a, b any) string { return diff.Diff(InternalForm(a), InternalForm(b)) }

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

func internalFormOf(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Invalid:
		return nil
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		if _, ok := v.Interface().(json.Marshaler); ok && !isPublishedType(v.Type().Elem()) {
			return v.Interface()
		}
		return internalFormOf(v.Elem())
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8 {
			return v.Interface()
		}
		list := make([]any, v.Len())
		for i := range list {
			list[i] = internalFormOf(v.Index(i))
		}
		return list
	case reflect.Map:
		return internalMapForm(v)
	case reflect.Struct:
		if isPublishedType(v.Type()) {
			return internalStructForm(v)
		}
	}
	return v.Interface()
}

func internalMapForm(v reflect.Value) any {
	if v.IsNil() || v.Type().Key().Kind() != reflect.String {
		return v.Interface()
	}
	m := make(map[string]any, v.Len())
	for it := v.MapRange(); it.Next(); {
		m[it.Key().String()] = internalFormOf(it.Value())
	}
	return m
}

// internalStructForm inlines the fields of embedded structs, as encoding/json does.
func internalStructForm(v reflect.Value) orderedFields {
	if shape := internalShape(v.Type()); shape != "" {
		return shapedFields(v, shape)
	}
	fields := make(orderedFields, 0, v.NumField())
	for i := range v.NumField() {
		switch f := v.Type().Field(i); {
		case f.Name == "TypeMeta":
			// Internal objects have neither kind nor apiVersion.
		case f.Name == "ObjectMeta":
			fields = append(fields, metadataFields(v.Field(i))...)
		case f.Anonymous && f.Type.Kind() == reflect.Struct && isPublishedType(f.Type):
			fields = append(fields, internalStructForm(v.Field(i))...)
		default:
			fields = append(fields, orderedField{f.Name, internalFormOf(v.Field(i))})
		}
	}
	return fields
}

// metadataFields returns the fields of the metadata of a nested object. The
// internal type embeds metadata without a name of its own.
func metadataFields(v reflect.Value) orderedFields {
	var fields orderedFields
	for _, f := range gotype.Members(v.Type()) {
		if value := f.In(v); !f.Omits(value) {
			fields = append(fields, orderedField{f.Name, value.Interface()})
		}
	}
	return fields
}

// isPublishedType reports whether t is a struct of k8s.io/api.
func isPublishedType(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && strings.HasPrefix(t.PkgPath(), "k8s.io/api/")
}
