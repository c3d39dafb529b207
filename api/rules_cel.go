package api

import "github.com/miniapiserver/miniapiserver/api/expression"

// celRules tell what is wrong with an expression. value is what a message shows
// as the expression.
func celRules(at *place, value string, p *expression.Program) {
	if p.Err != nil {
		at.invalid(value, p.Err.Error())
	}
}
