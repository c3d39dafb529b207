package structural

import (
	"reflect"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// maxValueFaults is the number of faults of the fields of an object, or of the items of a list,
// from which on the others are not validated. The library compares each fault with all previous
// ones, so that a list of a million items of the wrong type would take days.
const maxValueFaults = 1000

// limitFaults is an option of the library's validator of one value, which applies maxValueFaults
// to its fields and items. The value is invalid when the limit is reached, whatever the others
// are.
func limitFaults(o *validate.SchemaValidatorOptions) {
	faults := new(int)
	part := func(s *spec.Schema, root any, path string, formats strfmt.Registry) validate.ValueValidator {
		if *faults >= maxValueFaults {
			return limitedValidator{nil, faults}
		}
		return limitedValidator{validate.NewSchemaValidator(s, root, path, formats, limitFaults), faults}
	}
	o.NewValidatorForIndex = func(_ int, s *spec.Schema, root any, path string, formats strfmt.Registry, _ ...validate.Option) validate.ValueValidator {
		return part(s, root, path, formats)
	}
	o.NewValidatorForField = func(_ string, s *spec.Schema, root any, path string, formats strfmt.Registry, _ ...validate.Option) validate.ValueValidator {
		return part(s, root, path, formats)
	}
}

// limitedValidator validates a part of a value unless its other parts have maxValueFaults.
type limitedValidator struct {
	part   validate.ValueValidator
	faults *int // of all parts of the value so far
}

// Validate implements the library's ValueValidator.
func (l limitedValidator) Validate(value any) *validate.Result {
	if *l.faults >= maxValueFaults {
		return &validate.Result{}
	}
	result := l.part.Validate(value)
	*l.faults += len(result.Errors)
	return result
}

// SetPath implements the library's ValueValidator. It is not used.
func (limitedValidator) SetPath(string) {}

// Applies implements the library's ValueValidator.
func (limitedValidator) Applies(any, reflect.Kind) bool { return true }
