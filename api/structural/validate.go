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
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// Write is what is validated.
type Write struct {
	// Is is the object, and Was what is in its place; nil when it is new.
	Is, Was map[string]any
	// Status: nothing but status can have changed.
	Status bool
	// Tolerate is told of faults that are let be since they were there before; nil
	// when nobody wants to know.
	Tolerate func(error)
	// Compared, when set, is told how long it took to compare an object with what was
	// in its place.
	Compared func(time.Duration)
	// MetadataOnly, when set, reports whether nothing but metadata changed.
	MetadataOnly func() bool
	// Found is what is wrong with its metadata, and Also what else is wrong, which
	// has its place between faults of values and others.
	Found, Also field.ErrorList
}

const unchecked = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"

// Validate tells what of an object breaks the schema.
func (s *Schema) Validate(ctx context.Context, w Write) field.ErrorList {
	n := s.shape()
	var was *pair
	if w.Was != nil {
		was = &pair{is: w.Is, was: w.Was, node: n}
		if w.Compared != nil {
			was.cost = &comparison{}
			defer func() { w.Compared(was.cost.spent) }()
		}
	}
	errs := s.values(w, was)
	errs = append(errs, w.Also...)
	if !w.Status {
		errs = append(errs, checkEmbedded(nil, w.Is, n)...)
	}
	if twice := checkLists(w.Is, n); len(twice) > 0 && (w.Was == nil || len(checkLists(w.Was, n)) == 0) {
		errs = append(errs, twice...)
	}
	r := s.rules()
	if r == nil {
		return errs
	}
	if slices.ContainsFunc(w.Found, blocks) || slices.ContainsFunc(errs, blocks) {
		return append(errs, field.Invalid(nil, nil, unchecked))
	}
	return append(errs, evaluate(ctx, r, nil, w, was)...)
}

// evaluate runs all rules about an object.
func evaluate(ctx context.Context, r *rules, path *field.Path, w Write, was *pair) field.ErrorList {
	e := &evaluation{ctx: ctx, left: Budget, tolerate: w.Tolerate, metadataOnly: w.MetadataOnly}
	if e.tolerate == nil {
		e.tolerate = func(error) {}
	}
	var before any
	if w.Was != nil {
		before = w.Was
	}
	e.validate(r, path, w.Is, before, change{at: was})
	return e.errs
}

// blocks tells of faults after which rules cannot be relied on.
func blocks(err *field.Error) bool {
	switch err.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
		return true
	}
	return false
}

// values checks what JSON schema says of values.
func (s *Schema) values(w Write, was *pair) field.ErrorList {
	if !w.Status {
		return s.validator().check(nil, w.Is, was)
	}
	status, ok := w.Is["status"]
	v := s.status()
	if !ok || v == nil {
		return nil
	}
	return v.check(field.NewPath("status"), status, was.field("status"))
}

// validator is the library's, with the schema that it is made of.
type validator struct {
	schema *spec.Schema
	plain  *validate.SchemaValidator
	quick  *quick // nil where it is used but once
}

func newValidator(p *props, literal bool) *validator {
	s := openAPI(p, literal)
	v := &validator{schema: s, plain: validate.NewSchemaValidator(s, nil, "", strfmt.Default)}
	if !literal {
		v.quick = newQuick(s)
	}
	return v
}

// check checks a value. What is wrong with it already is let be, if was tells what
// it was before.
func (v *validator) check(path *field.Path, value any, was *pair) field.ErrorList {
	if v.quick != nil && v.quick.ok(value) {
		return nil
	}
	result := v.plain.Validate(value)
	if !result.IsValid() && was != nil {
		result = (&ratchet{pair: was, schema: v.schema, root: v.schema}).Validate(value)
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

// orderFaults sorts the faults of the object or list at a place. The library takes the
// fields of an object in any order, which becomes the order of their names. Everything
// else has an order: the faults of combined schemas (allOf) come before the fault of
// the combination, and items of lists are in their order.
func orderFaults(faults []error, at string) {
	for len(faults) > 0 {
		n := 0
		for n < len(faults) && placeOf(faults[n]) != at {
			n++
		}
		below := faults[:n]
		slices.SortStableFunc(below, func(a, b error) int {
			a1, b1 := partBelow(placeOf(a), at), partBelow(placeOf(b), at)
			if strings.HasPrefix(a1, at+"[") && strings.HasPrefix(b1, at+"[") {
				return 0
			}
			return strings.Compare(a1, b1)
		})
		for len(below) > 0 {
			part, m := partBelow(placeOf(below[0]), at), 1
			for m < len(below) && partBelow(placeOf(below[m]), at) == part {
				m++
			}
			orderFaults(below[:m], part)
			below = below[m:]
		}
		faults = faults[min(n+1, len(faults)):]
	}
}

// partBelow returns the field or item of the value at that contains place.
func partBelow(place, at string) string {
	rest, ok := strings.CutPrefix(place, at)
	if !ok || rest == "" {
		return place
	}
	if i := strings.IndexAny(rest[1:], ".["); i >= 0 {
		return at + rest[:i+1]
	}
	return place
}

// placeOf is what a fault is about. Some have it in their text alone: first, and
// in quotes, or last.
func placeOf(err error) string {
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

// fieldError says a fault that the validator found in the words of the API.
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
		return field.NotSupported(path, fault.Value, texts(fault.Values))
	case openapierrors.TooLongFailCode:
		return field.TooLong(path, value, number(fault.Valid))
	case openapierrors.MaxItemsFailCode, openapierrors.TooManyPropertiesCode:
		return field.TooMany(path, number(fault.Value), number(fault.Valid))
	case openapierrors.InvalidTypeCode:
		return field.TypeInvalid(path, value, fault.Error())
	}
	return field.Invalid(path, value, fault.Error())
}

// texts shows the values that are allowed.
func texts(values []any) []string {
	out := make([]string, 0, len(values))
	for _, v := range values {
		if s, ok := v.(string); ok {
			out = append(out, s)
			continue
		}
		data, err := json.Marshal(v)
		if err != nil {
			continue // it came from JSON
		}
		out = append(out, string(data))
	}
	return out
}

func number(v any) int {
	if n, ok := v.(int64); ok {
		return int(n)
	}
	return -1
}
