package validation

import (
	"github.com/miniapiserver/miniapiserver/api/expression"
)

// CELRules records the error of compiling an expression, if any. value is the expression as
// messages show it.
func CELRules(at *Path, value string, p *expression.Program) {
	if p.Err != nil {
		at.Invalid(value, p.Err.Error())
	}
}
