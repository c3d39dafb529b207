package expression

import (
	"github.com/google/cel-go/cel"
	apicel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/library"
)

// TypeChecker checks expressions against known types of the objects to which they refer.
// It is not safe for concurrent use.
type TypeChecker struct {
	env      *cel.Env
	declared map[string]*cel.Type
}

// NewTypeChecker returns a checker of expressions on objects of one type. The types of
// objects and of parameters may be nil if they are unknown.
func NewTypeChecker(object, params *apicel.DeclType, hasParams bool) (*TypeChecker, error) {
	request, namespace := requestType(), namespaceType()
	declared := []*apicel.DeclType{request, namespace}
	var vars []cel.EnvOption
	of := func(t *apicel.DeclType, names ...string) {
		checked := cel.DynType
		if t != nil {
			declared, checked = append(declared, t), t.CelType()
		}
		for _, name := range names {
			vars = append(vars, cel.Variable(name, checked))
		}
	}
	of(object, Object, OldObject)
	if hasParams {
		of(params, Params)
	}
	// As in kube-apiserver, authorizer.requestResource is not declared here: each use of it is a warning.
	vars = append(vars, cel.Variable(NamespaceObject, namespace.CelType()), cel.Variable(Request, request.CelType()),
		cel.Variable(Authorizer, library.AuthorizerType))
	env, err := NewEnv(vars, declared...)
	if err != nil {
		return nil, err
	}
	c := &TypeChecker{declared: map[string]*cel.Type{}}
	c.env, err = withVariables(env, c.declared)
	return c, err
}

// Declare adds a variable for the expressions that are checked later.
func (c *TypeChecker) Declare(name, text string) {
	var t *cel.Type
	if checked, issues := c.env.Compile(text); issues == nil {
		t = checked.OutputType()
	}
	c.declared[name] = declaredAs(t)
}

// Check returns the type errors of an expression; empty if there are none.
func (c *TypeChecker) Check(text string) string {
	if _, issues := c.env.Compile(text); issues != nil {
		return issues.String()
	}
	return ""
}
