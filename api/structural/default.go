package structural

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Default sets missing fields that have a default. A default also replaces null
// where the schema is not nullable. Default removes nothing: Prune and Coerce
// remove the other nulls of such fields.
func (s *Schema) Default(object map[string]any) { fill(object, s.shape()) }

// Settled reports whether Prune and Default leave an object unchanged that they
// have processed before. A default that contains a null or an unknown field
// makes it false.
func (s *Schema) Settled() bool { return s.settled() }

// settles is Settled of the schema of a part.
func settles(n *node) bool {
	if n == nil || n.value == nil && !n.defaults {
		return true
	}
	if n.value != nil {
		once := cloneValue(n.value)
		fill(once, n)
		again := cloneValue(once)
		prune(again, n, n.embedded)
		if n.embeds {
			_ = (&coercer{lenient: true}).coerce(nil, again, n)
		}
		dropNulls(again, n)
		fill(again, n)
		if !reflect.DeepEqual(once, again) {
			return false
		}
	}
	for _, f := range n.fields {
		if !settles(f) {
			return false
		}
	}
	return settles(n.items) && settles(n.values)
}

// fill sets the defaults below n.
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
