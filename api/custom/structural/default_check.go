package structural

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// defaultChecker checks that defaults are valid by their schemas.
type defaultChecker struct {
	errs field.ErrorList
	left int64 // remaining cost budget of rules
	// unpruned: defaults may have unknown fields.
	unpruned bool
	release  Release
}

// defaultHolder is the object or embedded resource that contains a default.
type defaultHolder struct {
	schema *props
	// around returns such an object with a value at the position of the default.
	around func(v any) map[string]any
	// inMetadata: the default is inside apiVersion, kind or metadata.
	inMetadata bool
}

func checkDefaults(s *props, path *field.Path, lenient Leniency, r Release) field.ErrorList {
	c := &defaultChecker{left: maxRuleCost, unpruned: lenient.UnprunedDefaults, release: r}
	root := *s
	root.XEmbeddedResource = true
	c.check(&root, path, defaultHolder{})
	return c.errs
}

// newDefaultHolder returns the holder for defaults in an embedded resource.
func newDefaultHolder(s *props) defaultHolder {
	return defaultHolder{schema: s, around: func(v any) map[string]any {
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

func (h defaultHolder) field(name string) defaultHolder {
	around := h.around
	h.around = func(v any) map[string]any { return around(map[string]any{name: v}) }
	return h
}

func (h defaultHolder) item() defaultHolder {
	around := h.around
	h.around = func(v any) map[string]any { return around([]any{v}) }
	return h
}

// check checks the defaults of a schema and of the schemas inside it. Defaults below
// additionalProperties are not checked.
func (c *defaultChecker) check(s *props, path *field.Path, h defaultHolder) {
	if s == nil || c.left < 0 {
		return
	}
	if s.XEmbeddedResource {
		h = newDefaultHolder(s)
	}
	if s.Default != nil {
		c.value(s, path.Child("default"), h)
	}
	if s.Items != nil {
		c.check(s.Items.Schema, path.Child("items"), h.item())
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		sub, in := s.Properties[name], h.field(name)
		in.inMetadata = h.inMetadata || s.XEmbeddedResource && isMeta(name)
		c.check(&sub, path.Child("properties").Key(name), in)
	}
}

// value checks the default of one schema.
func (c *defaultChecker) value(s *props, at *field.Path, h defaultHolder) {
	n, err := compile(s)
	if err != nil {
		c.errs = append(c.errs, field.Invalid(at, string(s.Default.Raw), err.Error()))
		return
	}
	if n.defaultValue == nil {
		return // a default of null has no effect
	}
	var errs field.ErrorList
	if h.inMetadata {
		errs = checkMetadataDefault(n.defaultValue, at, h)
	} else {
		if !c.unpruned && !isPruned(n) {
			c.errs = append(c.errs, field.Invalid(at, n.defaultValue, "must not have unknown fields"))
		}
		v := cloneValue(n.defaultValue)
		if fault := (&coercer{}).coerce(at, v, n); fault != nil {
			errs = field.ErrorList{fault}
		} else {
			errs = checkEmbedded(at, v, n)
		}
	}
	if len(errs) == 0 {
		errs = newValidator(s, nil).check(context.Background(), at, n.defaultValue, nil)
	}
	if len(errs) == 0 {
		errs = c.rules(n, at, s == h.schema)
	}
	c.errs = append(c.errs, errs...)
}

// checkMetadataDefault checks a default inside metadata by the object that would contain
// it.
func checkMetadataDefault(v any, at *field.Path, h defaultHolder) field.ErrorList {
	root, err := compile(h.schema)
	if err != nil {
		return nil // Check reports this error
	}
	object := h.around(cloneValue(v))
	if fault := (&coercer{}).coerce(nil, object, root); fault != nil {
		return field.ErrorList{field.Invalid(at, v, fmt.Sprintf("must result in valid metadata: %v", fault))}
	}
	if faults := checkEmbedded(nil, object, root); len(faults) > 0 {
		const most = 100 // the cost of the message is quadratic
		faults = faults[:min(len(faults), most)]
		return field.ErrorList{field.Invalid(at, v, fmt.Sprintf("must result in valid metadata: %v", faults.ToAggregate()))}
	}
	return nil
}

// isPruned reports whether a default has no unknown fields.
func isPruned(n *node) bool {
	v := cloneValue(n.defaultValue)
	prune(v, n, n.embedded)
	return reflect.DeepEqual(v, n.defaultValue)
}

// rules runs the rules for a default, both as an unchanged and as a new value.
func (c *defaultChecker) rules(n *node, at *field.Path, hasMeta bool) field.ErrorList {
	r := newRules(n, hasMeta)
	if r == nil {
		return nil
	}
	first := &evaluation{ctx: context.Background(), left: c.left, release: c.release}
	first.validate(r, at, n.defaultValue, n.defaultValue, correlation{})
	if len(first.errs) > 0 {
		c.left = first.left
		return first.errs
	}
	second := &evaluation{ctx: context.Background(), left: c.left, release: c.release}
	second.validate(r, at, n.defaultValue, nil, correlation{})
	c.left = min(first.left, second.left)
	return second.errs
}
