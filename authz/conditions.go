package authz

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/miniapiserver/miniapiserver/internal/celbounds"
)

// Conditions are the match conditions of a webhook: CEL expressions on "request", the spec of a
// SubjectAccessReview. The webhook is called for requests for which all are true.
type Conditions struct{ programs []condition }

type condition struct {
	text    string
	program cel.Program
}

// conditionCost is the CEL cost limit of one evaluation.
const conditionCost = 1_000_000

// newConditions compiles match conditions. It returns nil if there are none.
func newConditions(expressions ...string) (*Conditions, error) {
	if len(expressions) == 0 {
		return nil, nil
	}
	spec := reflect.TypeFor[authorizationv1.SubjectAccessReviewSpec]()
	env, err := cel.NewEnv(
		ext.Strings(ext.StringsVersion(2)), ext.Sets(), cel.OptionalTypes(),
		ext.NativeTypes(spec, ext.ParseStructTag("json")), cel.Variable("request", cel.ObjectType("v1."+spec.Name())),
	)
	if err != nil {
		return nil, err
	}
	c := &Conditions{}
	for _, text := range expressions {
		ast, issues := env.Compile(text)
		if issues.Err() != nil {
			return nil, fmt.Errorf("%q: compilation failed: %w", text, issues.Err())
		}
		if ast.OutputType() != cel.BoolType {
			return nil, fmt.Errorf("%q: must evaluate to bool", text)
		}
		program, err := env.Program(ast, append(celbounds.Options(env), cel.CostLimit(conditionCost), cel.InterruptCheckFrequency(100))...)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		c.programs = append(c.programs, condition{text, program})
	}
	return c, nil
}

// match reports whether all conditions are true. A false condition takes precedence over errors of
// others.
func (c *Conditions) match(spec *authorizationv1.SubjectAccessReviewSpec) (bool, error) {
	var errs []error
	for _, p := range c.programs {
		value, _, err := p.program.Eval(map[string]any{"request": spec})
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("cel evaluation error: expression %q resulted in error: %w", p.text, err))
		case value.Value() != true:
			return false, nil
		}
	}
	return len(errs) == 0, errors.Join(errs...)
}
