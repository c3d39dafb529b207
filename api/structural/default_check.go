package structural

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// defaultChecker checks that defaults are values that their schemas allow.
type defaultChecker struct {
	errs field.ErrorList
	left int64 // of the budget for rules
}

// holder is the object, with kind and metadata, that a default would be in.
type holder struct {
	schema *props
	// around puts a value where it would be in such an object.
	around func(v any) map[string]any
	// meta: in what every object has.
	meta bool
}

func checkDefaults(s *props, path *field.Path) field.ErrorList {
	c := &defaultChecker{left: Budget}
	root := *s
	root.XEmbeddedResource = true
	c.check(&root, path, holder{})
	return c.errs
}

// newHolder is for a schema of objects with kind and metadata.
func newHolder(s *props) holder {
	return holder{schema: s, around: func(v any) map[string]any {
		m, _ := v.(map[string]any)
		if m == nil {
			m = map[string]any{}
		}
		for name, value := range map[string]string{"kind": "Validation", "apiVersion": "validation/v1"} {
			if _, ok := m[name]; !ok {
				m[name] = value
			}
		}
		return m
	}}
}

func (h holder) field(name string) holder {
	around := h.around
	h.around = func(v any) map[string]any { return around(map[string]any{name: v}) }
	return h
}

func (h holder) item() holder {
	around := h.around
	h.around = func(v any) map[string]any { return around([]any{v}) }
	return h
}

// check checks the defaults of a schema and of those in it. There are none where
// fields have no names.
func (c *defaultChecker) check(s *props, path *field.Path, h holder) {
	if s == nil || c.left < 0 {
		return
	}
	if s.XEmbeddedResource {
		h = newHolder(s)
	}
	if s.Default != nil {
		c.value(s, path.Child("default"), h)
	}
	if s.Items != nil {
		c.check(s.Items.Schema, path.Child("items"), h.item())
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		sub, in := s.Properties[name], h.field(name)
		in.meta = h.meta || s.XEmbeddedResource && isMeta(name)
		c.check(&sub, path.Child("properties").Key(name), in)
	}
}

// value checks one default.
func (c *defaultChecker) value(s *props, at *field.Path, h holder) {
	n, err := compile(s)
	if err != nil {
		c.errs = append(c.errs, field.Invalid(at, string(s.Default.Raw), err.Error()))
		return
	}
	if n.value == nil {
		return // counts as none
	}
	var errs field.ErrorList
	if h.meta {
		errs = checkMetadataDefault(n.value, at, h)
	} else {
		c.pruned(n, at)
		v := cloneValue(n.value)
		if fault := (&coercer{}).coerce(at, v, n); fault != nil {
			errs = field.ErrorList{fault}
		} else {
			errs = checkEmbedded(at, v, n)
		}
	}
	if len(errs) == 0 {
		errs = newValidator(s, true).check(at, n.value, nil)
	}
	if len(errs) == 0 {
		errs = c.rules(n, at, s == h.schema)
	}
	c.errs = append(c.errs, errs...)
}

// checkMetadataDefault checks a default in metadata by the object that it would
// come to be in.
func checkMetadataDefault(v any, at *field.Path, h holder) field.ErrorList {
	whole, err := compile(h.schema)
	if err != nil {
		return nil // told of elsewhere
	}
	object := h.around(cloneValue(v))
	if fault := (&coercer{}).coerce(nil, object, whole); fault != nil {
		return field.ErrorList{field.Invalid(at, v, fmt.Sprintf("must result in valid metadata: %v", fault))}
	}
	if faults := checkEmbedded(nil, object, whole); len(faults) > 0 {
		return field.ErrorList{field.Invalid(at, v, fmt.Sprintf("must result in valid metadata: %v", faults.ToAggregate()))}
	}
	return nil
}

// pruned checks that a default has no fields that are not known.
func (c *defaultChecker) pruned(n *node, at *field.Path) {
	v := cloneValue(n.value)
	prune(v, n, n.embedded)
	if !reflect.DeepEqual(v, n.value) {
		c.errs = append(c.errs, field.Invalid(at, n.value, "must not have unknown fields"))
	}
}

// rules runs the rules for a default, both as a new value and as one that was
// there before.
func (c *defaultChecker) rules(n *node, at *field.Path, whole bool) field.ErrorList {
	r := newRules(n, whole)
	if r == nil {
		return nil
	}
	first := &evaluation{ctx: context.Background(), left: c.left}
	first.validate(r, at, n.value, n.value, change{})
	if len(first.errs) > 0 {
		c.left = first.left
		return first.errs
	}
	second := &evaluation{ctx: context.Background(), left: c.left}
	second.validate(r, at, n.value, nil, change{})
	c.left = min(first.left, second.left)
	return second.errs
}
