package structural

import (
	"context"
	"math"
	"reflect"
	"regexp/syntax"

	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// maxMatchCost bounds one match of a pattern, which nothing interrupts: the number of its compiled
// instructions times the length of the text in bytes. It stands for about a second of CPU.
const maxMatchCost = 1 << 26

// effort ends a validation whose client has left. The number of alternatives of a schema times the number
// of items of an object is not bounded otherwise. A nil effort never ends.
type effort struct {
	ctx   context.Context
	parts int
	err   error
	// sizes has the number of instructions of patterns.
	sizes map[string]int
}

// hasEnded reports whether the validation must end. It is called for each part of the value.
func (e *effort) hasEnded() bool {
	if e == nil {
		return false
	}
	if e.parts++; e.parts&0xff == 0 && e.err == nil {
		e.err = e.ctx.Err()
	}
	return e.err != nil
}

// ended returns the error of a validation that has ended early.
func (e *effort) ended() error {
	if e == nil {
		return nil
	}
	return e.err
}

// isTooCostly reports whether a value is a text that is too long for the pattern of its schema.
func (e *effort) isTooCostly(s *spec.Schema, value any) bool {
	text, isText := value.(string)
	if s == nil || s.Pattern == "" || !isText || len(text)*len(s.Pattern) <= maxMatchCost/64 {
		return false
	}
	size, known := 0, false
	if e != nil {
		size, known = e.sizes[s.Pattern]
	}
	if !known {
		size = patternSize(s.Pattern)
		if e != nil {
			if e.sizes == nil {
				e.sizes = map[string]int{}
			}
			e.sizes[s.Pattern] = size
		}
	}
	return size > maxMatchCost/len(text)
}

// patternSize returns the number of instructions of a pattern.
func patternSize(pattern string) int {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0 // which the library reports
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return math.MaxInt32
	}
	return len(program.Inst)
}

// boundedValidator validates a value by a schema within an effort.
type boundedValidator struct {
	validate.ValueValidator
	schema *spec.Schema
	path   string
	effort *effort
}

// Validate implements the library's ValueValidator.
func (b boundedValidator) Validate(value any) *validate.Result {
	if b.effort.hasEnded() {
		return &validate.Result{}
	}
	if b.effort.isTooCostly(b.schema, value) {
		result := &validate.Result{}
		result.AddErrors(openapierrors.New(openapierrors.CompositeErrorCode,
			"%s in body is too long for its pattern: %d bytes", b.path, reflect.ValueOf(value).Len()))
		return result
	}
	return b.ValueValidator.Validate(value)
}
