package authz

import (
	"fmt"

	"github.com/google/cel-go/cel"
	authorizationv1 "k8s.io/api/authorization/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	apicel "k8s.io/apiserver/pkg/cel"

	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/internal/celbounds"
)

// Conditions are the match conditions of a webhook: CEL expressions on "request", the spec of a
// SubjectAccessReview. The webhook is called for requests for which all are true.
type Conditions struct{ programs []condition }

type condition struct {
	text    string
	program cel.Program
}

// newConditions compiles match conditions. It returns nil if there are none.
func newConditions(expressions ...string) (*Conditions, error) {
	if len(expressions) == 0 {
		return nil, nil
	}
	env, err := conditionEnvironment()
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
			return nil, fmt.Errorf("%q: must evaluate to bool but got %v", text, ast.OutputType())
		}
		program, err := env.Program(ast, append(celbounds.Options(env), cel.InterruptCheckFrequency(100))...)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		c.programs = append(c.programs, condition{text, program})
	}
	return c, nil
}

// conditionEnvironment returns the environment of match conditions: the libraries of stored expressions,
// with their cost limit, and the variable request.
func conditionEnvironment() (*cel.Env, error) {
	request := reviewType()
	return expression.NewEnv([]cel.EnvOption{cel.Variable("request", request.CelType())}, request)
}

// reviewType returns the CEL type of the variable request.
func reviewType() *apicel.DeclType {
	list := apicel.NewListType(apicel.StringType, -1)
	fields := func(t *apicel.DeclType, names ...string) map[string]*apicel.DeclField {
		return expression.DeclareFields(false, t, names...)
	}
	text, object := apicel.StringType, expression.DeclareObject
	requirement := object("SelectorRequirement", fields(text, "key", "operator"), fields(list, "values"))
	selector := func(kind string) *apicel.DeclType {
		return object(kind, fields(text, "rawSelector"), fields(apicel.NewListType(requirement, -1), "requirements"))
	}
	resource := object("ResourceAttributes", fields(text, "namespace", "verb", "group", "version", "resource", "subresource", "name"),
		fields(selector("FieldSelectorAttributes"), "fieldSelector"), fields(selector("LabelSelectorAttributes"), "labelSelector"))
	return object("SubjectAccessReviewSpec", fields(text, "user", "uid"), fields(list, "groups"),
		fields(apicel.NewMapType(text, list, -1), "extra"), fields(resource, "resourceAttributes"),
		fields(object("NonResourceAttributes", fields(text, "path", "verb")), "nonResourceAttributes"))
}

// match reports whether all conditions are true. A false condition takes precedence over errors of
// others.
func (c *Conditions) match(spec *authorizationv1.SubjectAccessReviewSpec) (bool, error) {
	var errs []error
	variables := map[string]any{"request": conditionRequest(spec)}
	for _, p := range c.programs {
		value, _, err := p.program.Eval(variables)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("cel evaluation error: expression '%v' resulted in error: %w", p.text, err))
		case value.Value() != true:
			return false, nil
		}
	}
	return len(errs) == 0, utilerrors.NewAggregate(errs)
}

// conditionRequest returns the value of the variable request. All its strings are present, also empty
// ones, but of the two kinds of attributes only those of the request: an expression that reads the others
// without has() fails.
func conditionRequest(spec *authorizationv1.SubjectAccessReviewSpec) map[string]any {
	extra := spec.Extra
	if extra == nil {
		extra = map[string]authorizationv1.ExtraValue{}
	}
	request := map[string]any{"user": spec.User, "uid": spec.UID, "groups": spec.Groups, "extra": extra}
	if a := spec.NonResourceAttributes; a != nil {
		request["nonResourceAttributes"] = map[string]string{"path": a.Path, "verb": a.Verb}
	}
	if a := spec.ResourceAttributes; a != nil {
		attributes := map[string]any{
			"namespace": a.Namespace, "verb": a.Verb, "group": a.Group, "version": a.Version, "resource": a.Resource, "subresource": a.Subresource, "name": a.Name,
		}
		if s := a.FieldSelector; s != nil {
			requirements := make([]any, len(s.Requirements))
			for i, r := range s.Requirements {
				requirements[i] = map[string]any{"key": r.Key, "operator": string(r.Operator), "values": r.Values}
			}
			attributes["fieldSelector"] = map[string]any{"requirements": requirements}
		}
		if s := a.LabelSelector; s != nil {
			requirements := make([]any, len(s.Requirements))
			for i, r := range s.Requirements {
				requirements[i] = map[string]any{"key": r.Key, "operator": string(r.Operator), "values": r.Values}
			}
			attributes["labelSelector"] = map[string]any{"requirements": requirements}
		}
		request["resourceAttributes"] = attributes
	}
	return request
}
