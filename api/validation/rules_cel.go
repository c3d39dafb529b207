package validation

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"
	apicel "k8s.io/apiserver/pkg/cel"

	"github.com/miniapiserver/miniapiserver/api/expression"
)

// CELRules records the error of compiling an expression, if any. value is the expression as
// messages show it.
func CELRules(at *Path, value string, p *expression.Program) {
	var fault *apicel.Error
	switch {
	case p.Err == nil:
	case errors.As(p.Err, &fault) && fault.Type == apicel.ErrorTypeInternal:
		at.Add(field.InternalError(at.ToField(), fault))
	default:
		at.Invalid(value, p.Err.Error())
	}
}
