package structural

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"github.com/miniapiserver/miniapiserver/internal/coldsort"
)

// Write is a write to validate.
type Write struct {
	// Object is the new object, and Old the existing one; nil for a create.
	Object, Old map[string]any
	// StatusOnly: only status can have changed.
	StatusOnly bool
	// Tolerate, when set, is called with the errors that ratcheting tolerates.
	Tolerate func(error)
	// ObserveComparison, when set, is called with the time that ratcheting took to compare
	// the new object with the old one.
	ObserveComparison func(time.Duration)
	// MetadataOnly, when set, reports whether nothing but metadata changed.
	MetadataOnly func() bool
	// MetadataErrors are the errors of metadata; validation rules do not run after some of
	// them. ScaleErrors are returned after the errors of the schema.
	MetadataErrors, ScaleErrors field.ErrorList
}

const rulesNotChecked = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"

// Validate validates an object by the schema and its rules.
func (s *Schema) Validate(ctx context.Context, w Write) field.ErrorList {
	n := s.shape()
	var stored *correlatedValue
	if w.Old != nil {
		stored = &correlatedValue{value: w.Object, old: w.Old, node: n}
		if w.ObserveComparison != nil {
			stored.cost = &comparisonTimer{}
			defer func() { w.ObserveComparison(stored.cost.spent) }()
		}
	}
	errs := s.values(ctx, w, stored)
	errs = append(errs, w.ScaleErrors...)
	if !w.StatusOnly {
		errs = append(errs, checkEmbedded(nil, w.Object, n)...)
	}
	if twice := checkLists(w.Object, n); len(twice) > 0 && (w.Old == nil || len(checkLists(w.Old, n)) == 0) {
		errs = append(errs, twice...)
	}
	r := s.rules()
	if r == nil {
		return errs
	}
	if slices.ContainsFunc(w.MetadataErrors, blocksRules) || slices.ContainsFunc(errs, blocksRules) {
		return append(errs, field.Invalid(nil, nil, rulesNotChecked))
	}
	return append(errs, s.evaluate(ctx, r, nil, w, stored)...)
}

// evaluate runs all rules of an object.
func (s *Schema) evaluate(ctx context.Context, r *rules, path *field.Path, w Write, old *correlatedValue) field.ErrorList {
	e := &evaluation{ctx: ctx, left: maxRuleCost, tolerate: w.Tolerate, metadataOnly: w.MetadataOnly, release: s.release}
	if e.tolerate == nil {
		e.tolerate = func(error) {}
	}
	var before any
	if w.Old != nil {
		before = w.Old
	}
	e.validate(r, path, w.Object, before, correlation{at: old})
	return e.errs
}

// blocksRules reports whether validation rules are skipped after an error.
func blocksRules(err *field.Error) bool {
	switch err.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
		return true
	}
	return false
}

// values validates an object by the JSON schema keywords.
func (s *Schema) values(ctx context.Context, w Write, old *correlatedValue) field.ErrorList {
	if !w.StatusOnly {
		return s.validator().check(ctx, nil, w.Object, old)
	}
	status, ok := w.Object["status"]
	v := s.status()
	if !ok || v == nil {
		return nil
	}
	return v.check(ctx, field.NewPath("status"), status, old.field("status"))
}

// validator is the library's validator of a schema, with a fast path.
type validator struct {
	schema *spec.Schema
	quick  *fastValidator // nil for validators that are used once
}

func newValidator(p *props, formats formatChoice) *validator {
	s := toOpenAPI(p, formats)
	v := &validator{schema: s}
	if formats != nil {
		v.quick = newFastValidator(s)
	}
	return v
}

// check validates a value. If old is set, ratcheting tolerates errors of unchanged parts.
func (v *validator) check(ctx context.Context, path *field.Path, value any, old *correlatedValue) field.ErrorList {
	e := &effort{ctx: ctx}
	if v.quick != nil && v.quick.accepts(value, e) {
		return nil
	}
	result := newLimitedValidator(v.schema, nil, "", strfmt.Default, e).Validate(value)
	if !result.IsValid() && old != nil {
		result = (&ratchetingValidator{pair: old, schema: v.schema, root: v.schema, effort: e}).Validate(value)
	}
	if err := e.ended(); err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	if result.IsValid() {
		return nil
	}
	orderFaults(result.Errors, "")
	errs := make(field.ErrorList, 0, len(result.Errors))
	for _, err := range result.Errors {
		errs = append(errs, fieldError(path, err))
	}
	return errs
}

// orderFaults sorts the faults of the object or list at a path. The library visits the
// fields of an object in random order; orderFaults sorts them by name. Missing fields follow, in the
// order of the schema. The other faults stay in the library's order: the faults of the schemas in allOf come before the fault of
// allOf, and list items are in their order.
func orderFaults(faults []error, at string) {
	for len(faults) > 0 {
		n := 0
		for n < len(faults) && faultPath(faults[n]) != at {
			n++
		}
		below := faults[:n]
		coldsort.Func(below, func(a, b error) int {
			if x, y := isMissingField(a, at), isMissingField(b, at); x || y {
				switch {
				case x && y:
					return 0
				case x:
					return 1
				}
				return -1
			}
			a1, b1 := partContaining(faultPath(a), at), partContaining(faultPath(b), at)
			if strings.HasPrefix(a1, at+"[") && strings.HasPrefix(b1, at+"[") {
				return 0
			}
			return strings.Compare(a1, b1)
		})
		for len(below) > 0 {
			part, m := partContaining(faultPath(below[0]), at), 1
			for m < len(below) && partContaining(faultPath(below[m]), at) == part {
				m++
			}
			orderFaults(below[:m], part)
			below = below[m:]
		}
		faults = faults[min(n+1, len(faults)):]
	}
}

// isMissingField reports whether a fault is that the object at a path has no value for a required field.
func isMissingField(err error, at string) bool {
	var fault *openapierrors.Validation
	if !errors.As(err, &fault) || fault.Code() != openapierrors.RequiredFailCode {
		return false
	}
	place := faultPath(err)
	return partContaining(place, at) == place
}

// partContaining returns the field or item of the value at that contains place.
func partContaining(place, at string) string {
	rest, ok := strings.CutPrefix(place, at)
	if !ok || rest == "" {
		return place
	}
	if i := strings.IndexAny(rest[1:], ".["); i >= 0 {
		return at + rest[:i+1]
	}
	return place
}

// faultPath returns the path of a fault. Some faults have it only in their text: at the
// start, in quotes, or at the end.
func faultPath(err error) string {
	var fault *openapierrors.Validation
	if errors.As(err, &fault) {
		return strings.TrimPrefix(fault.Name, ".")
	}
	text := err.Error()
	if rest, ok := strings.CutPrefix(text, `"`); ok {
		place, _, _ := strings.Cut(rest, `"`)
		return place
	}
	return text[strings.LastIndex(text, " ")+1:]
}

// fieldError converts an error of the library to a field error.
func fieldError(path *field.Path, err error) *field.Error {
	var fault *openapierrors.Validation
	if !errors.As(err, &fault) {
		return field.Invalid(path, "", err.Error())
	}
	if fault.Name != "" && fault.Name != "." {
		path = path.Child(strings.TrimPrefix(fault.Name, "."))
	}
	var value any = ""
	if fault.Value != nil {
		value = fault.Value
	}
	switch fault.Code() {
	case openapierrors.RequiredFailCode:
		return field.Required(path, "")
	case openapierrors.EnumFailCode:
		return field.NotSupported(path, fault.Value, allowedValues(fault.Values))
	case openapierrors.TooLongFailCode:
		return field.TooLong(path, value, limitOf(fault.Valid))
	case openapierrors.MaxItemsFailCode, openapierrors.TooManyPropertiesCode:
		return field.TooMany(path, limitOf(fault.Value), limitOf(fault.Valid))
	case openapierrors.InvalidTypeCode:
		return field.TypeInvalid(path, value, fault.Error())
	}
	return field.Invalid(path, value, fault.Error())
}

// allowedValues returns the permitted values as texts.
func allowedValues(values []any) []string {
	out := make([]string, 0, len(values))
	for _, v := range values {
		if s, ok := v.(string); ok {
			out = append(out, s)
			continue
		}
		data, err := json.Marshal(v)
		if err != nil {
			continue // cannot happen: the value was decoded from JSON
		}
		out = append(out, string(data))
	}
	return out
}

func limitOf(v any) int {
	if n, ok := v.(int64); ok {
		return int(n)
	}
	return -1
}
