package structural

import (
	"reflect"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// The library compares each fault with all previous ones, so that a list of a million items of
// the wrong type would take days. The fields of an object, or the items of a list, are therefore
// validated only until their faults reach one of these limits.
const (
	// maxValueFaults is the number of faults.
	maxValueFaults = 1000
	// maxFaultText is the sum of the lengths of their messages, each of which contains a path.
	maxFaultText = 1 << 20
)

// faultCount counts the faults of the parts of a value.
type faultCount struct{ number, text int }

func (f *faultCount) add(errs []error) {
	f.number += len(errs)
	for _, err := range errs {
		f.text += len(err.Error())
	}
}

// full reports whether a limit is reached. The value is invalid then, whatever its other parts
// are.
func (f *faultCount) full() bool { return f.number >= maxValueFaults || f.text >= maxFaultText }

// newLimitedValidator returns a validator of one value, and of its fields and items, that stops at
// the limits.
func newLimitedValidator(s *spec.Schema, root any, path string, formats strfmt.Registry, e *effort) validate.ValueValidator {
	return newCombinedValidator(s, root, path, formats, e, limitFaults(e))
}

// limitFaults returns an option of the library's validator of one value, which applies the limits
// to its fields and items.
func limitFaults(e *effort) validate.Option {
	return func(o *validate.SchemaValidatorOptions) { limitParts(o, e) }
}

func limitParts(o *validate.SchemaValidatorOptions, e *effort) {
	faults := new(faultCount)
	part := func(s *spec.Schema, root any, path string, formats strfmt.Registry) validate.ValueValidator {
		if faults.full() {
			return limitedValidator{nil, faults}
		}
		return limitedValidator{newLimitedValidator(s, root, path, formats, e), faults}
	}
	o.NewValidatorForIndex = func(_ int, s *spec.Schema, root any, path string, formats strfmt.Registry,
		_ ...validate.Option) validate.ValueValidator {
		return part(s, root, path, formats)
	}
	o.NewValidatorForField = func(_ string, s *spec.Schema, root any, path string, formats strfmt.Registry,
		_ ...validate.Option) validate.ValueValidator {
		return part(s, root, path, formats)
	}
}

// limitedValidator validates a part of a value unless the faults of its other parts reach a limit.
type limitedValidator struct {
	part   validate.ValueValidator
	faults *faultCount // of all parts of the value so far
}

// Validate implements the library's ValueValidator.
func (l limitedValidator) Validate(value any) *validate.Result {
	if l.faults.full() {
		return &validate.Result{}
	}
	result := l.part.Validate(value)
	l.faults.add(result.Errors)
	return result
}

// SetPath implements the library's ValueValidator. It is not used.
func (limitedValidator) SetPath(string) {}

// Applies implements the library's ValueValidator.
func (limitedValidator) Applies(any, reflect.Kind) bool { return true }
