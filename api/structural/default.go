package structural

import "k8s.io/apimachinery/pkg/runtime"

// Default fills in what the schema has defaults for. A null where none may be
// gives way to the default, and vanishes where there is none but one of its kind
// is declared.
func (s *Schema) Default(object map[string]any) {
	dropNulls(object, s.root)
	fill(object, s.root)
}

func fill(v any, n *node) {
	if n == nil {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for name, f := range n.fields {
			if _, there := v[name]; !there && f.set {
				v[name] = cloneValue(f.value)
			}
			if value, there := v[name]; there {
				fill(value, f)
			}
		}
		if n.values != nil {
			for name, value := range v {
				if n.fields[name] != nil {
					continue
				}
				if value == nil && n.values.set && !n.values.nullable {
					value = cloneValue(n.values.value)
					v[name] = value
				}
				fill(value, n.values)
			}
		}
	case []any:
		if n.items == nil {
			return
		}
		for i, value := range v {
			if value == nil && n.items.set && !n.items.nullable {
				v[i] = cloneValue(n.items.value)
			}
			fill(v[i], n.items)
		}
	}
}

// dropNulls takes out nulls of fields that must not be null and have a default.
func dropNulls(v any, n *node) {
	if n == nil {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			f := n.fields[name]
			if f == nil {
				f = n.values
			}
			if f == nil {
				continue
			}
			if value == nil && !f.nullable && n.fields[name] != nil {
				delete(v, name)
				continue
			}
			dropNulls(value, f)
		}
	case []any:
		for _, value := range v {
			dropNulls(value, n.items)
		}
	}
}

// cloneValue is a copy of a value made of JSON.
func cloneValue(v any) any { return runtime.DeepCopyJSONValue(v) }
