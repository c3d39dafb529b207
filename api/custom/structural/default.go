package structural

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapiserver/miniapiserver/internal/bounds"
)

// Default sets missing fields that have a default. A default also replaces null
// where the schema is not nullable. Default removes nothing: Prune and Coerce
// remove the other nulls of such fields. It returns an error, and leaves the rest of the object
// without defaults, if the object becomes larger than limit bytes.
func (s *Schema) Default(object map[string]any, limit int) error {
	n := s.shape()
	if n == nil || !n.containsDefaults {
		return nil
	}
	d := &defaulter{limit: limit}
	if err := d.apply(object, n); err != nil {
		return err
	}
	if d.added <= limit/16 { // as nearly always; the object itself is within the bounds of requests
		return nil
	}
	return bounds.Value(object, limit)
}

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
		if setDefaults(once, n) != nil {
			return false
		}
		again := cloneValue(once)
		prune(again, n, n.embedded)
		if n.containsEmbedded {
			_ = (&coercer{lenient: true}).coerce(nil, again, n)
		}
		dropNulls(again, n)
		if setDefaults(again, n) != nil || !reflect.DeepEqual(once, again) {
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

// setDefaults sets the defaults inside a default.
func setDefaults(v any, n *node) error {
	return (&defaulter{limit: bounds.MaxObject}).apply(v, n)
}

// defaulter sets the defaults of one object. A default is set in each item of a list or a map,
// and may be a list whose items have defaults, so that a few bytes can stand for gigabytes. It counts
// what it adds before it allocates.
type defaulter struct{ added, limit int }

// apply sets the defaults of the values inside v.
func (d *defaulter) apply(v any, n *node) error {
	if n == nil || !n.containsDefaults {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		return d.fields(v, n)
	case []any:
		for i, value := range v {
			if value == nil && n.items.replacesNull() {
				if err := d.add(n.items, ""); err != nil {
					return inDefault(strconv.Itoa(i), err)
				}
				v[i] = cloneValue(n.items.defaultValue)
			}
			if err := d.apply(v[i], n.items); err != nil {
				return inDefault(strconv.Itoa(i), err)
			}
		}
	}
	return nil
}

func (d *defaulter) fields(v map[string]any, n *node) error {
	for name, f := range n.defaulted {
		if value, there := v[name]; !there || value == nil && !f.nullable {
			if err := d.add(f, name); err != nil {
				return inDefault(name, err)
			}
			v[name] = cloneValue(f.defaultValue)
		}
	}
	for name, value := range v {
		f := n.field(name)
		if value == nil && f.replacesNull() {
			if err := d.add(f, name); err != nil {
				return inDefault(name, err)
			}
			value = cloneValue(f.defaultValue)
			v[name] = value
		}
		if err := d.apply(value, f); err != nil {
			return inDefault(name, err)
		}
	}
	return nil
}

// add counts a default that is about to be set.
func (d *defaulter) add(n *node, name string) error {
	if d.added += n.defaultSize + len(name); d.added > d.limit {
		return fmt.Errorf("the defaults of the schema make the object larger than %d bytes", d.limit)
	}
	return nil
}

// replacesNull reports whether a default replaces null.
func (n *node) replacesNull() bool { return n != nil && !n.nullable && n.defaultValue != nil }

// defaultError is an error of the defaults of a field.
type defaultError struct {
	// path has the names of the fields and the indexes of the items, the innermost first.
	path []string
	err  error
}

// inDefault adds the name of a field, or the index of an item, to an error of its defaults.
func inDefault(name string, err error) error {
	e, ok := err.(*defaultError)
	if !ok {
		e = &defaultError{err: err}
	}
	e.path = append(e.path, name)
	return e
}

// Error implements error.
func (e *defaultError) Error() string {
	path := slices.Clone(e.path)
	slices.Reverse(path)
	return strings.Join(path, ".") + ": " + e.err.Error()
}

// Unwrap returns the error without its path.
func (e *defaultError) Unwrap() error { return e.err }

// sizeOfDefault returns the approximate memory of a value of decoded JSON.
func sizeOfDefault(v any) int {
	const scalar, container = 16, 48
	switch v := v.(type) {
	case string:
		return scalar + len(v)
	case map[string]any:
		size := container
		for name, value := range v {
			size += scalar + len(name) + sizeOfDefault(value)
		}
		return size
	case []any:
		size := container
		for _, value := range v {
			size += sizeOfDefault(value)
		}
		return size
	}
	return scalar
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
