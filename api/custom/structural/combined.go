package structural

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// combinedValidator validates a value by a schema with allOf, anyOf, oneOf or not. The library
// drops its options below these, and with them the limits of faults, so that it only validates the
// rest of the schema. The faults, their order and the match counts are those of the library.
type combinedValidator struct {
	schema  *spec.Schema
	rest    *validate.SchemaValidator // the schema without the combinations
	root    any
	path    string
	formats strfmt.Registry
	effort  *effort
}

var _ validate.ValueValidator = combinedValidator{}

// newCombinedValidator returns a validator of one value by a schema. The option makes the
// validators of its fields and items.
func newCombinedValidator(s *spec.Schema, root any, path string, formats strfmt.Registry, e *effort,
	parts validate.Option) validate.ValueValidator {
	if s == nil || len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) == 0 && s.Not == nil {
		return boundedValidator{validate.NewSchemaValidator(s, root, path, formats, parts), s, path, e}
	}
	if root == nil {
		root = s
	}
	rest := *s
	rest.AllOf, rest.AnyOf, rest.OneOf, rest.Not = nil, nil, nil, nil
	whole := validate.NewSchemaValidator(&rest, root, path, formats, parts)
	return boundedValidator{combinedValidator{s, whole, root, path, formats, e}, s, path, e}
}

// Validate implements the library's ValueValidator.
func (c combinedValidator) Validate(value any) *validate.Result {
	rest := c.rest.Validate(value)
	if value == nil {
		return rest // combinations do not apply to null
	}
	// The library reports the type before the combinations, and everything else after them.
	result := &validate.Result{MatchCount: rest.MatchCount}
	if len(rest.Errors) > 0 && c.isTypeFault(rest.Errors[0], value) {
		result.Errors, rest.Errors = rest.Errors[:1:1], rest.Errors[1:]
	}
	c.anyOf(value, result)
	c.oneOf(value, result)
	c.allOf(value, result)
	if not := c.schema.Not; not != nil && c.validate(not, value).IsValid() {
		c.fail(result, validate.MustNotValidateSchemaError)
	}
	result.AddErrors(rest.Errors...)
	return result
}

// isTypeFault reports whether a fault is that the value has the wrong type. A string of a wrong
// format has the same code.
func (c combinedValidator) isTypeFault(err error, value any) bool {
	var fault *openapierrors.Validation
	if !errors.As(err, &fault) || fault.Code() != openapierrors.InvalidTypeCode || fault.Name != c.path {
		return false
	}
	_, isString := value.(string)
	return !isString || c.schema.Format == "" || !strings.Contains(fault.Error(), "must be of type "+c.schema.Format+":")
}

// validate validates the value by a schema of a combination.
func (c combinedValidator) validate(s *spec.Schema, value any) *validate.Result {
	return newLimitedValidator(s, c.root, c.path, c.formats, c.effort).Validate(value)
}

// fail adds a fault of a combination, in the words of the library.
func (c combinedValidator) fail(result *validate.Result, format string, args ...any) {
	result.AddErrors(openapierrors.New(openapierrors.CompositeErrorCode, format, append([]any{c.path}, args...)...))
}

// anyOf adds the faults of the alternative that matches best, unless one is valid.
func (c combinedValidator) anyOf(value any, result *validate.Result) {
	if len(c.schema.AnyOf) == 0 {
		return
	}
	var best *validate.Result
	for i := range c.schema.AnyOf {
		r := c.validate(&c.schema.AnyOf[i], value)
		if r.IsValid() {
			result.Merge(r)
			return
		}
		if best == nil || r.MatchCount > best.MatchCount {
			best = r
		}
	}
	c.fail(result, validate.MustValidateAtLeastOneSchemaError)
	result.Merge(best)
}

// oneOf is anyOf for alternatives of which exactly one must be valid.
func (c combinedValidator) oneOf(value any, result *validate.Result) {
	if len(c.schema.OneOf) == 0 {
		return
	}
	var best, first *validate.Result
	valid := 0
	for i := range c.schema.OneOf {
		switch r := c.validate(&c.schema.OneOf[i], value); {
		case r.IsValid():
			if valid++; first == nil {
				first = r
			}
		case best == nil || r.MatchCount > best.MatchCount:
			best = r
		}
	}
	switch valid {
	case 0:
		c.fail(result, validate.MustValidateOnlyOneSchemaError, "Found none valid")
		result.Merge(best)
	case 1:
		result.Merge(first)
	default:
		c.fail(result, validate.MustValidateOnlyOneSchemaError, fmt.Sprintf("Found %d valid alternatives", valid))
	}
}

// allOf adds the faults of all schemas, up to the limits.
func (c combinedValidator) allOf(value any, result *validate.Result) {
	valid, faults := 0, faultCount{}
	for i := range c.schema.AllOf {
		if faults.full() {
			break
		}
		r := c.validate(&c.schema.AllOf[i], value)
		if r.IsValid() {
			valid++
		}
		faults.add(r.Errors)
		result.Merge(r)
	}
	switch valid {
	case len(c.schema.AllOf):
	case 0:
		c.fail(result, validate.MustValidateAllSchemasError, ". None validated")
	default:
		c.fail(result, validate.MustValidateAllSchemasError, "")
	}
}

// SetPath implements the library's ValueValidator. It is not used.
func (combinedValidator) SetPath(string) {}

// Applies implements the library's ValueValidator.
func (combinedValidator) Applies(any, reflect.Kind) bool { return true }
