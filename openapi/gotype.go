package openapi

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/gotype"
)

// modeled are Go types with a published definition.
type modeled interface{ OpenAPIModelName() string }

// documented are Go types that describe their fields, as those of k8s.io/api do.
type documented interface{ SwaggerDoc() map[string]string }

// ModelName returns the name of the definition of a published Go type: io.k8s.api.core.v1.Pod for
// k8s.io/api/core/v1.Pod. It is empty for other types.
func ModelName(t reflect.Type) string {
	m, ok := reflect.New(t).Interface().(modeled)
	if !ok {
		return ""
	}
	return m.OpenAPIModelName()
}

// IsPublished reports whether the Go type of value, a pointer, has a published definition.
func IsPublished(value any) bool {
	_, ok := value.(modeled)
	return ok
}

// TypeDefinitions returns the definitions of a kind whose objects have the Go type t, and
// of its list. The schema is that of the exported fields by their JSON names. A list with
// the struct tag patchMergeKey is merged by that key, other lists are atomic.
func TypeDefinitions(kind CustomKind, t reflect.Type) ([]Definition, error) {
	for _, version := range []struct {
		prefix string
		schema *[]byte
	}{{refV3, &kind.V3}, {refV2, &kind.V2}} {
		s, err := typeSchema{refs: version.prefix}.object(t)
		if err != nil {
			return nil, fmt.Errorf("OpenAPI definition of %s: %w", t, err)
		}
		var out bytes.Buffer
		if err := appendJSON(&out, s); err != nil {
			return nil, err
		}
		*version.schema = out.Bytes()
	}
	return kind.Definitions()
}

// typeSchema makes schemas of Go types. within are the structs around the current one.
type typeSchema struct {
	refs   string
	within []reflect.Type
}

// value returns the schema of a value of type t.
func (s typeSchema) value(t reflect.Type) (jsonObject, error) {
	if t.Kind() == reflect.Pointer {
		return s.value(t.Elem())
	}
	if m, ok := reflect.Zero(t).Interface().(modeled); ok {
		return jsonObject{"$ref": s.refs + m.OpenAPIModelName()}, nil
	}
	switch t.Kind() {
	case reflect.String:
		return jsonObject{"type": "string"}, nil
	case reflect.Bool:
		return jsonObject{"type": "boolean"}, nil
	case reflect.Int64, reflect.Int:
		return jsonObject{"type": "integer", "format": "int64"}, nil
	case reflect.Int32:
		return jsonObject{"type": "integer", "format": "int32"}, nil
	case reflect.Float64:
		return jsonObject{"type": "number", "format": "double"}, nil
	case reflect.Struct:
		return s.object(t)
	case reflect.Map:
		values, err := s.value(t.Elem())
		return jsonObject{"type": "object", "additionalProperties": values}, err
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return jsonObject{"type": "string", "format": "byte"}, nil
		}
		items, err := s.value(t.Elem())
		return jsonObject{"type": "array", "items": items, "x-kubernetes-list-type": "atomic"}, err
	}
	return nil, fmt.Errorf("no schema for the Go type %s", t)
}

// object returns the schema of a struct.
func (s typeSchema) object(t reflect.Type) (jsonObject, error) {
	if slices.Contains(s.within, t) {
		return nil, fmt.Errorf("the Go type %s contains itself", t)
	}
	s.within = append(slices.Clip(s.within), t)
	properties, required := jsonObject{}, []string{}
	if err := s.fields(t, properties, &required); err != nil {
		return nil, err
	}
	out := jsonObject{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	return out, nil
}

// fields adds the fields of a struct, and those of structs that are embedded inline.
func (s typeSchema) fields(t reflect.Type, properties jsonObject, required *[]string) error {
	var docs map[string]string
	if d, ok := reflect.Zero(t).Interface().(documented); ok {
		docs = d.SwaggerDoc()
	}
	for _, f := range gotype.Fields(t) {
		if f.IsInlined {
			if err := s.fields(f.Type, properties, required); err != nil {
				return err
			}
		}
		if f.Name == "" {
			continue
		}
		schema, err := s.value(f.Type)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		if key := f.MergeKey; key != "" && schema["type"] == "array" {
			schema["x-kubernetes-list-type"], schema["x-kubernetes-list-map-keys"] = "map", []string{key}
			schema["x-kubernetes-patch-merge-key"], schema["x-kubernetes-patch-strategy"] = key, "merge"
		}
		description := docs[f.Name]
		if f.Type == reflect.TypeFor[metav1.ObjectMeta]() {
			description = MetadataDescription()
		}
		properties[f.Name] = describedSchema(schema, description, s.refs)
		if !f.OmitEmpty && !f.OmitZero {
			*required = append(*required, f.Name)
		}
	}
	return nil
}

// describedSchema adds a description. In version 3 a reference cannot have siblings.
func describedSchema(schema jsonObject, description, refs string) jsonObject {
	if description == "" {
		return schema
	}
	if schema["$ref"] != nil && refs == refV3 {
		schema = jsonObject{"allOf": []jsonObject{schema}}
	}
	schema["description"] = description
	return schema
}
