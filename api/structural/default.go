package structural

import "k8s.io/apimachinery/pkg/runtime"

// Default fills in what the schema has defaults for. A null where none may be
// gives way to the default, and vanishes where there is none.
func (s *Schema) Default(object map[string]any) {
	n := s.shape()
	if !s.keeps {
		dropNulls(object, n)
	}
	fill(object, n)
}

// fill fills in defaults below n. Nulls without a default were dropped before, but
// for items of lists.
func fill(v any, n *node) {
	if n == nil || !n.defaults {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for name, f := range n.filled {
			if value, there := v[name]; !there || value == nil && !f.nullable {
				v[name] = cloneValue(f.value)
			}
		}
		for name, value := range v {
			f := n.field(name)
			if value == nil && f != nil && !f.nullable && f.value != nil {
				value = cloneValue(f.value)
				v[name] = value
			}
			fill(value, f)
		}
	case []any:
		for i, value := range v {
			if value == nil && n.items != nil && !n.items.nullable && n.items.value != nil {
				v[i] = cloneValue(n.items.value)
			}
			fill(v[i], n.items)
		}
	}
}

// dropNulls takes out nulls of fields that must not be null and have no default.
func dropNulls(v any, n *node) {
	if n == nil {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if f := n.field(name); f == nil {
				continue
			} else if value == nil && !f.nullable && f.value == nil {
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

// cloneValue is a copy of a value made of JSON.
func cloneValue(v any) any { return runtime.DeepCopyJSONValue(v) }
