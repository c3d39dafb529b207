package structural

import (
	"math"
	"regexp"
	"unicode/utf8"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// quick finds that a value is in order, which it nearly always is, at a fraction
// of what the library needs, which makes a validator for every value. What it
// does not know it does not pass: the library then judges, and finds words for
// what is wrong.
type quick struct {
	s       *spec.Schema
	pattern *regexp.Regexp
	fields  map[string]*quick
	values  *quick
	items   *quick
	all     []*quick
	any     []*quick
	// exact is the library's, for schemas that quick does not understand.
	exact *validate.SchemaValidator
}

func newQuick(s *spec.Schema) *quick {
	if s == nil {
		return nil
	}
	q := &quick{s: s}
	if !q.understands() {
		return &quick{exact: validate.NewSchemaValidator(s, nil, "", strfmt.Default)}
	}
	for name, sub := range s.Properties {
		if q.fields == nil {
			q.fields = make(map[string]*quick, len(s.Properties))
		}
		q.fields[name] = newQuick(&sub)
	}
	if s.AdditionalProperties != nil {
		q.values = newQuick(s.AdditionalProperties.Schema)
	}
	if s.Items != nil {
		q.items = newQuick(s.Items.Schema)
	}
	for i := range s.AllOf {
		q.all = append(q.all, newQuick(&s.AllOf[i]))
	}
	for i := range s.AnyOf {
		q.any = append(q.any, newQuick(&s.AnyOf[i]))
	}
	return q
}

// understands tells whether a schema says only what ok looks at.
func (q *quick) understands() bool {
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
		// Others are rounded, or are themselves out of bounds.
		if *bound != math.Trunc(*bound) || math.Abs(*bound) > math.MaxInt32 || !numeric || bound == s.MultipleOf && *bound < 1 {
			return false
		}
	}
	return true
}

// ok tells that a value is in order. If it is not, that means nothing.
func (q *quick) ok(v any) bool {
	if q == nil {
		return true
	}
	if q.exact != nil {
		return q.exact.Validate(v).IsValid()
	}
	if v == nil {
		return (q.s.Nullable || len(q.s.Type) == 0) && len(q.s.Enum) == 0
	}
	for _, sub := range q.all {
		if !sub.ok(v) {
			return false
		}
	}
	return q.anyOk(v) && q.listed(v) && q.fits(v)
}

func (q *quick) anyOk(v any) bool {
	for _, sub := range q.any {
		if sub.ok(v) {
			return true
		}
	}
	return len(q.any) == 0
}

// listed tells of a value that is one of those that are enumerated.
func (q *quick) listed(v any) bool {
	switch v.(type) {
	case string, int64, float64, bool:
		for _, e := range q.s.Enum {
			if e == v {
				return true
			}
		}
	}
	return len(q.s.Enum) == 0
}

func (q *quick) is(kind string) bool { return len(q.s.Type) == 0 || q.s.Type.Contains(kind) }

// fits checks a value by its type.
func (q *quick) fits(v any) bool {
	switch v := v.(type) {
	case string:
		return q.is("string") && q.text(v)
	case bool:
		return q.is("boolean") && q.s.Format == ""
	case int64:
		return (q.is("integer") || q.is("number")) && q.number(float64(v)) && (q.s.Format != "int32" || v == int64(int32(v))) &&
			(q.s.MultipleOf == nil || v%int64(*q.s.MultipleOf) == 0)
	case float64:
		return q.is("number") && q.s.MultipleOf == nil && q.number(v)
	case []any:
		return q.is("array") && q.s.Format == "" && q.list(v)
	case map[string]any:
		return q.is("object") && q.s.Format == "" && q.object(v)
	}
	return false
}

func (q *quick) text(v string) bool {
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

func (q *quick) number(v float64) bool {
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

func (q *quick) list(v []any) bool {
	n := int64(len(v))
	if q.s.MinItems != nil && n < *q.s.MinItems || q.s.MaxItems != nil && n > *q.s.MaxItems {
		return false
	}
	for i := range v {
		if !q.items.ok(v[i]) {
			return false
		}
	}
	return true
}

func (q *quick) object(v map[string]any) bool {
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
		if !f.ok(value) {
			return false
		}
	}
	return true
}
