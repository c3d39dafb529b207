package structural

import (
	"math"
	"regexp"
	"unicode/utf8"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// fastValidator accepts most valid values at a fraction of the cost of the library, which
// makes a validator for every value. The library validates the values that it does not
// accept, and makes the error messages.
type fastValidator struct {
	s       *spec.Schema
	pattern *regexp.Regexp
	fields  map[string]*fastValidator
	values  *fastValidator
	items   *fastValidator
	// enum has the values of a long enum.
	enum  map[any]struct{}
	allOf []*fastValidator
	anyOf []*fastValidator
	// exact means that the schema has keywords that only the library supports.
	exact bool
}

func newFastValidator(s *spec.Schema) *fastValidator {
	if s == nil {
		return nil
	}
	q := &fastValidator{s: s}
	if !q.supports() {
		return &fastValidator{s: s, exact: true}
	}
	for name, sub := range s.Properties {
		if q.fields == nil {
			q.fields = make(map[string]*fastValidator, len(s.Properties))
		}
		q.fields[name] = newFastValidator(&sub)
	}
	if s.AdditionalProperties != nil {
		q.values = newFastValidator(s.AdditionalProperties.Schema)
	}
	if s.Items != nil {
		q.items = newFastValidator(s.Items.Schema)
	}
	if len(s.Enum) > maxPairwiseItems {
		q.enum = scalarSet(s.Enum)
	}
	for i := range s.AllOf {
		q.allOf = append(q.allOf, newFastValidator(&s.AllOf[i]))
	}
	for i := range s.AnyOf {
		q.anyOf = append(q.anyOf, newFastValidator(&s.AnyOf[i]))
	}
	return q
}

// supports reports whether a schema has only keywords that accepts checks.
func (q *fastValidator) supports() bool {
	s := q.s
	if len(s.OneOf) > 0 || s.Not != nil || s.UniqueItems {
		return false
	}
	if s.Pattern != "" {
		var err error
		if q.pattern, err = regexp.Compile(s.Pattern); err != nil {
			return false
		}
	}
	numeric := s.Type.Contains("integer") || s.Type.Contains("number")
	for _, bound := range []*float64{s.Minimum, s.Maximum, s.MultipleOf} {
		if bound == nil {
			continue
		}
		// The library rounds other bounds, or refuses them.
		if *bound != math.Trunc(*bound) || math.Abs(*bound) > math.MaxInt32 || !numeric || bound == s.MultipleOf && *bound < 1 {
			return false
		}
	}
	return true
}

// accepts reports whether a value is surely valid. If it returns false, the value may
// still be valid.
func (q *fastValidator) accepts(v any, e *effort) bool {
	if q == nil {
		return true
	}
	if e.hasEnded() || e.isTooCostly(q.s, v) {
		return false
	}
	if q.exact {
		// The validator counts faults and is used once.
		return newLimitedValidator(q.s, nil, "", strfmt.Default, e).Validate(v).IsValid()
	}
	if v == nil {
		return (q.s.Nullable || len(q.s.Type) == 0) && len(q.s.Enum) == 0
	}
	for _, sub := range q.allOf {
		if !sub.accepts(v, e) {
			return false
		}
	}
	return q.acceptsAnyOf(v, e) && q.acceptsEnum(v) && q.acceptsType(v, e)
}

func (q *fastValidator) acceptsAnyOf(v any, e *effort) bool {
	for _, sub := range q.anyOf {
		if sub.accepts(v, e) {
			return true
		}
	}
	return len(q.anyOf) == 0
}

// acceptsEnum reports whether the enum contains a value, or there is no enum.
func (q *fastValidator) acceptsEnum(v any) bool {
	switch v.(type) {
	case string, int64, float64, bool:
		if q.enum != nil {
			_, ok := q.enum[v]
			return ok
		}
		for _, e := range q.s.Enum {
			if e == v {
				return true
			}
		}
	}
	return len(q.s.Enum) == 0
}

func (q *fastValidator) allowsType(kind string) bool {
	return len(q.s.Type) == 0 || q.s.Type.Contains(kind)
}

// acceptsType reports whether a value has the type and is valid by the keywords of the
// type.
func (q *fastValidator) acceptsType(v any, e *effort) bool {
	switch v := v.(type) {
	case string:
		return q.allowsType("string") && q.text(v)
	case bool:
		return q.allowsType("boolean") && q.s.Format == ""
	case int64:
		return (q.allowsType("integer") || q.allowsType("number")) && q.number(float64(v)) && (q.s.Format != "int32" || v == int64(int32(v))) &&
			(q.s.MultipleOf == nil || v%int64(*q.s.MultipleOf) == 0)
	case float64:
		return q.allowsType("number") && q.s.MultipleOf == nil && q.number(v)
	case []any:
		return q.allowsType("array") && q.s.Format == "" && q.list(v, e)
	case map[string]any:
		return q.allowsType("object") && q.s.Format == "" && q.object(v, e)
	}
	return false
}

func (q *fastValidator) text(v string) bool {
	s := q.s
	if s.MinLength != nil || s.MaxLength != nil {
		if n := int64(utf8.RuneCountInString(v)); s.MinLength != nil && n < *s.MinLength || s.MaxLength != nil && n > *s.MaxLength {
			return false
		}
	}
	if q.pattern != nil && !q.pattern.MatchString(v) {
		return false
	}
	return s.Format == "" || strfmt.Default.ContainsName(s.Format) && strfmt.Default.Validates(s.Format, v)
}

func (q *fastValidator) number(v float64) bool {
	s := q.s
	if math.Abs(v) > 1<<53 {
		return false // it may have been rounded
	}
	switch s.Format {
	case "", "int32", "int64", "double":
	case "float":
		if math.Abs(v) > math.MaxFloat32 {
			return false
		}
	default:
		return false
	}
	if s.Minimum != nil && (v < *s.Minimum || s.ExclusiveMinimum && v == *s.Minimum) {
		return false
	}
	return s.Maximum == nil || v < *s.Maximum || v == *s.Maximum && !s.ExclusiveMaximum
}

func (q *fastValidator) list(v []any, e *effort) bool {
	n := int64(len(v))
	if q.s.MinItems != nil && n < *q.s.MinItems || q.s.MaxItems != nil && n > *q.s.MaxItems {
		return false
	}
	for i := range v {
		if !q.items.accepts(v[i], e) {
			return false
		}
	}
	return true
}

func (q *fastValidator) object(v map[string]any, e *effort) bool {
	s := q.s
	n := int64(len(v))
	if s.MinProperties != nil && n < *s.MinProperties || s.MaxProperties != nil && n > *s.MaxProperties {
		return false
	}
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			return false
		}
	}
	closed := s.AdditionalProperties != nil && !s.AdditionalProperties.Allows
	for name, value := range v {
		f := q.fields[name]
		if f == nil && closed {
			return false
		}
		if f == nil {
			f = q.values
		}
		if !f.accepts(value, e) {
			return false
		}
	}
	return true
}

// scalarSet returns the texts, numbers and booleans of a list.
func scalarSet(list []any) map[any]struct{} {
	set := make(map[any]struct{}, len(list))
	for _, v := range list {
		switch v.(type) {
		case string, int64, float64, bool:
			set[v] = struct{}{}
		}
	}
	return set
}
