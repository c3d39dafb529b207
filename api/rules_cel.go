package api

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// celResult is what an expression must come to.
type celResult uint8

const (
	celAny celResult = iota
	celBool
	celString
	celStringOrNull
	celObject
	celPatches
)

// allowed are the types of a result; nil means any.
func (r celResult) allowed() []*cel.Type {
	switch r {
	case celBool:
		return []*cel.Type{cel.BoolType}
	case celString:
		return []*cel.Type{cel.StringType}
	case celStringOrNull:
		return []*cel.Type{cel.StringType, cel.NullType}
	case celObject:
		return []*cel.Type{cel.ObjectType(celObjectType)}
	case celPatches:
		return []*cel.Type{cel.ListType(cel.ObjectType(celPatchType))}
	}
	return nil
}

// Names of types that expressions use.
const (
	celVariablesType = "kubernetes.variables"
	celDeviceType    = "DRADevice"
	celObjectType    = "Object"
	celPatchType     = "JSONPatch"
)

// celScope is what an expression can refer to: the request for admission, or a
// device.
type celScope struct {
	// params: there are parameters. patches: changes can be made.
	params, patches bool
	// noAuthorizer: permissions cannot be asked for.
	noAuthorizer bool
	device       bool
	// variables are the types of those declared so far; nil if there can be none.
	variables map[string]*cel.Type
}

func (s *celScope) declare(name string, t *cel.Type) {
	variables := map[string]*cel.Type{name: t}
	for n, other := range s.variables {
		if n != name {
			variables[n] = other
		}
	}
	s.variables = variables
}

func (s celScope) withoutAuthorizer() celScope {
	s.noAuthorizer = true
	return s
}

// celRules compiles an expression and returns the type of what it comes to.
// value is what a message shows as the expression. Functions that Kubernetes
// adds to the language are not known here: of an expression with one of them
// only the grammar is checked.
func celRules(at *place, value, expression string, scope celScope, result celResult) *cel.Type {
	env, err := scope.env()
	if err != nil {
		at.invalid(value, "compilation failed: "+err.Error())
		return cel.DynType
	}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		at.invalid(value, "compilation failed: "+issues.String())
		return cel.DynType
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		if !beyondUs(parsed, issues) {
			at.invalid(value, "compilation failed: "+issues.String())
		}
		return cel.DynType
	}
	t := checked.OutputType()
	resultRules(at, value, t, scope, result)
	return t
}

func resultRules(at *place, value string, t *cel.Type, scope celScope, result celResult) {
	allowed := result.allowed()
	if allowed == nil || slices.ContainsFunc(allowed, t.IsExactType) {
		return
	}
	switch {
	case scope.device:
		if !t.IsExactType(cel.DynType) {
			at.invalid(value, fmt.Sprintf("must evaluate to %v or the unknown type, not %v", allowed[0], t))
		}
	case len(allowed) == 1:
		at.invalid(value, fmt.Sprintf("must evaluate to %v but got %v", allowed[0], t))
	default:
		at.invalid(value, fmt.Sprintf("must evaluate to one of %v but got %v", allowed, t))
	}
}

// beyondUs tells whether what was found may come from functions that are not
// known here.
func beyondUs(parsed *cel.Ast, issues *cel.Issues) bool {
	called := map[string]bool{}
	// Functions of these libraries have a name before the dot.
	for _, library := range []string{"format", "ip", "jsonpatch", "math", "semver", "sets", "strings"} {
		called[library] = true
	}
	ast.PostOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.CallKind {
			called[e.AsCall().FunctionName()] = true
		}
	}))
	return slices.ContainsFunc(issues.Errors(), func(e *cel.Error) bool {
		name, ok := strings.CutPrefix(e.Message, "undeclared reference to '")
		name, _, _ = strings.Cut(name, "'")
		return ok && called[name]
	})
}

func (s celScope) env() (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true),
		func(e *cel.Env) (*cel.Env, error) {
			return cel.CustomTypeProvider(&celTypes{Provider: e.CELTypeProvider(), scope: s})(e)
		},
	}
	if s.device {
		return cel.NewEnv(append(options, cel.Variable("device", cel.ObjectType(celDeviceType)))...)
	}
	names := []string{"object", "oldObject", "request", "namespaceObject"}
	if s.params {
		names = append(names, "params")
	}
	if !s.noAuthorizer {
		names = append(names, "authorizer", "authorizer.requestResource")
	}
	for _, name := range names {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	if s.variables != nil {
		options = append(options, cel.Variable("variables", cel.ObjectType(celVariablesType)))
	}
	return cel.NewEnv(options...)
}

// celTypes adds the types of a scope to those of the language.
type celTypes struct {
	types.Provider
	scope celScope
}

// FindStructType finds a type by its name.
func (c *celTypes) FindStructType(name string) (*types.Type, bool) {
	switch {
	case name == celVariablesType, c.scope.device && name == celDeviceType, c.scope.patches && changeType(name):
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return c.Provider.FindStructType(name)
}

// FindStructFieldType finds the type of a field of a type.
func (c *celTypes) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	switch {
	case name == celVariablesType:
		t, ok := c.scope.variables[field]
		return &types.FieldType{Type: t}, ok
	case c.scope.device && name == celDeviceType:
		t, ok := deviceFields()[field]
		return &types.FieldType{Type: t}, ok
	case c.scope.patches && name == celPatchType:
		return &types.FieldType{Type: cel.DynType}, slices.Contains([]string{"op", "path", "from", "value"}, field)
	case c.scope.patches && changeType(name):
		return &types.FieldType{Type: cel.DynType}, true
	}
	return c.Provider.FindStructFieldType(name, field)
}

// changeType tells of the types that changes are made of: those of an object and
// of its fields, by their path.
func changeType(name string) bool {
	return name == celPatchType || name == celObjectType || strings.HasPrefix(name, celObjectType+".")
}

func deviceFields() map[string]*cel.Type {
	byDomain := cel.MapType(cel.StringType, cel.MapType(cel.StringType, cel.DynType))
	return map[string]*cel.Type{
		"driver": cel.StringType, "allowMultipleAllocations": cel.BoolType,
		"attributes": byDomain, "capacity": byDomain,
	}
}
