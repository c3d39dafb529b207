package structural

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Default sets missing fields that have a default. A default also replaces null
// where the schema is not nullable. Default removes nothing: Prune and Coerce
// remove the other nulls of such fields.
func (s *Schema) Default(object map[string]any) { applyDefaults(object, s.shape()) }

// DefaultIsIdempotent reports whether Prune and Default leave an object unchanged that they
// have processed before. A default that contains a null or an unknown field
// makes it false.
func (s *Schema) DefaultIsIdempotent() bool { return s.defaultIsIdempotent() }

// isIdempotentDefault reports whether DefaultIsIdempotent holds for values of n.
func isIdempotentDefault(n *node) bool {
	if n == nil || n.defaultValue == nil && !n.containsDefaults {
		return true
	}
	if n.defaultValue != nil {
		once := cloneValue(n.defaultValue)
		applyDefaults(once, n)
		again := cloneValue(once)
		prune(again, n, n.embedded)
		if n.containsEmbedded {
			_ = (&coercer{lenient: true}).coerce(nil, again, n)
		}
		dropNulls(again, n)
		applyDefaults(again, n)
		if !reflect.DeepEqual(once, again) {
			return false
		}
	}
	for _, f := range n.fields {
		if !isIdempotentDefault(f) {
			return false
		}
	}
	return isIdempotentDefault(n.items) && isIdempotentDefault(n.values)
}

// applyDefaults sets the defaults of the values inside v.
func applyDefaults(v any, n *node) {
	if n == nil || !n.containsDefaults {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for name, f := range n.defaulted {
			if value, there := v[name]; !there || value == nil && !f.nullable {
				v[name] = cloneValue(f.defaultValue)
			}
		}
		for name, value := range v {
			f := n.field(name)
			if value == nil && f != nil && !f.nullable && f.defaultValue != nil {
				value = cloneValue(f.defaultValue)
				v[name] = value
			}
			applyDefaults(value, f)
		}
	case []any:
		for i, value := range v {
			if value == nil && n.items != nil && !n.items.nullable && n.items.defaultValue != nil {
				v[i] = cloneValue(n.items.defaultValue)
			}
			applyDefaults(v[i], n.items)
		}
	}
}

// dropNulls removes nulls from fields that are not nullable and have no default.
func dropNulls(v any, n *node) {
	if n == nil {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if f := n.field(name); f == nil {
				continue
			} else if value == nil && !f.nullable && f.defaultValue == nil {
				delete(v, name)
			} else {
				dropNulls(value, f)
			}
		}
	case []any:
		for _, value := range v {
			dropNulls(value, n.items)
		}
	}
}

// cloneValue returns a deep copy of decoded JSON.
func cloneValue(v any) any { return runtime.DeepCopyJSONValue(v) }
