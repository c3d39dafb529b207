package expression

import (
	"fmt"

	"github.com/google/cel-go/cel"
	apicel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/mutation"

	"github.com/miniapiserver/miniapiserver/internal/celbounds"
)

// Results that programs may be asked to come to.
func Bool() []*cel.Type         { return []*cel.Type{cel.BoolType} }
func String() []*cel.Type       { return []*cel.Type{cel.StringType} }
func StringOrNull() []*cel.Type { return []*cel.Type{cel.StringType, cel.NullType} }

// ApplyConfiguration and Patches are what mutations come to.
func ApplyConfiguration() []*cel.Type { return []*cel.Type{cel.ObjectType(mutation.ObjectTypeName)} }
func Patches() []*cel.Type {
	return []*cel.Type{cel.ListType(cel.ObjectType(mutation.JSONPatchTypeName))}
}

// checkFrequency is after how many steps of a loop an evaluation looks whether
// its request is still there.
const checkFrequency = 100

// Program is a compiled expression. It is safe for concurrent use.
type Program struct {
	// Text is the expression, and Err what is wrong with it.
	Text string
	Err  error
	// Type is what it comes to, as far as is known before it runs.
	Type *cel.Type

	run cel.Program
}

// Scope is what the expressions of a compiler may refer to besides the request
// and its objects.
type Scope struct {
	// Params: there are parameters.
	Params bool
	// Variables: there may be variables.
	Variables bool
}

// Compiler compiles the expressions of one policy or webhook. It is not safe
// for concurrent use.
type Compiler struct {
	scope     Scope
	declared  map[string]*cel.Type
	variables map[string]*Program
	envs      map[options]*cel.Env
}

// NewCompiler makes a compiler without variables.
func NewCompiler(scope Scope) *Compiler {
	return &Compiler{scope: scope, declared: map[string]*cel.Type{}, variables: map[string]*Program{}, envs: map[options]*cel.Env{}}
}

// env is the environment for o, with the compiler's variables.
func (c *Compiler) env(o options) (*cel.Env, error) {
	o.params = c.scope.Params
	if env := c.envs[o]; env != nil {
		return env, nil
	}
	env, err := environments()[o]()
	if err == nil && c.scope.Variables {
		env, err = withVariables(env, c.declared)
	}
	if err != nil {
		return nil, err
	}
	c.envs[o] = env
	return env, nil
}

// Declare adds a variable, which what is compiled later may use.
func (c *Compiler) Declare(name, text string) *Program {
	p := c.compile(text, options{authorizer: true}, nil)
	c.declared[name] = declaredAs(p.Type)
	c.variables[name] = p
	return p
}

// Compile compiles an expression that must come to one of results.
func (c *Compiler) Compile(text string, results []*cel.Type) *Program {
	return c.compile(text, options{authorizer: true}, results)
}

// CompileMessage compiles an expression that cannot ask who may do what.
func (c *Compiler) CompileMessage(text string, results []*cel.Type) *Program {
	return c.compile(text, options{}, results)
}

// CompileMutation compiles an expression that makes changes.
func (c *Compiler) CompileMutation(text string, results []*cel.Type) *Program {
	return c.compile(text, options{authorizer: true, patches: true}, results)
}

func (c *Compiler) compile(text string, o options, results []*cel.Type) *Program {
	p := &Program{Text: text}
	env, err := c.env(o)
	if err != nil {
		p.Err = &apicel.Error{Type: apicel.ErrorTypeInternal, Detail: fmt.Sprintf("unexpected error loading CEL environment: %v", err)}
		return p
	}
	checked, issues := env.Compile(text)
	if issues != nil {
		p.Err = &apicel.Error{Type: apicel.ErrorTypeInvalid, Detail: "compilation failed: " + issues.String(), Cause: apicel.NewCompilationError(issues)}
		return p
	}
	if fault := wrongResult(checked.OutputType(), results); fault != "" {
		p.Err = &apicel.Error{Type: apicel.ErrorTypeInvalid, Detail: fault}
		return p
	}
	run, err := env.Program(checked, cel.InterruptCheckFrequency(checkFrequency), celbounds.Quantities())
	if err != nil {
		p.Err = &apicel.Error{Type: apicel.ErrorTypeInternal, Detail: "program instantiation failed: " + err.Error()}
		return p
	}
	p.Type, p.run = checked.OutputType(), run
	return p
}

// wrongResult tells what is wrong with a result of type t; nil results mean any.
func wrongResult(t *cel.Type, results []*cel.Type) string {
	if results == nil {
		return ""
	}
	for _, r := range results {
		if t.IsExactType(r) {
			return ""
		}
	}
	if len(results) == 1 {
		return fmt.Sprintf("must evaluate to %v but got %v", results[0], t)
	}
	return fmt.Sprintf("must evaluate to one of %v but got %v", results, t)
}
