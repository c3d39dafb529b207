package authz

import (
	"fmt"

	"github.com/google/cel-go/cel"
	authorizationv1 "k8s.io/api/authorization/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/version"
	apicel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

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
	set, err := expression.Base().Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        []cel.EnvOption{cel.Variable("request", request.CelType())}, DeclTypes: []*apicel.DeclType{request},
	})
	if err != nil {
		return nil, err
	}
	return set.Env(environment.StoredExpressions)
}

// reviewType returns the CEL type of the variable request.
func reviewType() *apicel.DeclType {
	list := apicel.NewListType(apicel.StringType, -1)
	requirement := declareObject("SelectorRequirement", textFields("key", "operator"), fieldTypes{"values": list})
	selector := func(kind string) *apicel.DeclType {
		return declareObject(kind, textFields("rawSelector"), fieldTypes{"requirements": apicel.NewListType(requirement, -1)})
	}
	return declareObject("SubjectAccessReviewSpec", textFields("user", "uid"), fieldTypes{
		"groups": list, "extra": apicel.NewMapType(apicel.StringType, list, -1),
		"resourceAttributes": declareObject("ResourceAttributes", textFields("namespace", "verb", "group", "version", "resource", "subresource", "name"),
			fieldTypes{"fieldSelector": selector("FieldSelectorAttributes"), "labelSelector": selector("LabelSelectorAttributes")}),
		"nonResourceAttributes": declareObject("NonResourceAttributes", textFields("path", "verb")),
	})
}

// fieldTypes are the types of the fields of an object, none of which is required.
type fieldTypes map[string]*apicel.DeclType

// textFields returns fields that are strings.
func textFields(names ...string) fieldTypes {
	out := fieldTypes{}
	for _, name := range names {
		out[name] = apicel.StringType
	}
	return out
}

func declareObject(kind string, sets ...fieldTypes) *apicel.DeclType {
	declared := map[string]*apicel.DeclField{}
	for _, set := range sets {
		for name, t := range set {
			declared[name] = apicel.NewDeclField(name, t, false, nil, nil)
		}
	}
	return apicel.NewObjectType("kubernetes."+kind, declared)
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
