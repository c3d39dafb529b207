package validation

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/api/expression"
)

// TestCELRules checks the types of the errors of expressions.
func TestCELRules(t *testing.T) {
	c := expression.NewCompiler(expression.Scope{})
	for text, want := range map[string]string{
		"true":         "",
		"1":            `e: Invalid value: "1": must evaluate to bool but got int`,
		"int('x') > 1": "e: Internal error: program instantiation failed: type conversion error from 'string' to 'int'",
	} {
		errs := Check(func(at *Path) { CELRules(at.Child("e"), text, c.Compile(text, expression.Bool())) })
		got := ""
		if len(errs) > 0 {
			got = errs[0].Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
