package expression

import (
	"fmt"

	"github.com/google/cel-go/cel"
	apicel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/mutation"

	"github.com/miniapiserver/miniapiserver/internal/celbounds"
)

// Bool returns the result types of validations and match conditions.
func Bool() []*cel.Type { return []*cel.Type{cel.BoolType} }

// String returns the result types of message expressions.
func String() []*cel.Type { return []*cel.Type{cel.StringType} }

// StringOrNull returns the result types of audit annotations.
func StringOrNull() []*cel.Type { return []*cel.Type{cel.StringType, cel.NullType} }

// ApplyConfiguration returns the result types of apply configuration mutations.
func ApplyConfiguration() []*cel.Type { return []*cel.Type{cel.ObjectType(mutation.ObjectTypeName)} }

// Patches returns the result types of JSON patch mutations.
func Patches() []*cel.Type {
	return []*cel.Type{cel.ListType(cel.ObjectType(mutation.JSONPatchTypeName))}
}

// checkFrequency is the number of loop iterations after which an evaluation checks whether
// its request was cancelled.
const checkFrequency = 100

// Program is a compiled expression. It is safe for concurrent use.
type Program struct {
	// Text is the expression, and Err is why it does not compile.
	Text string
	Err  error
	// Type is the static type of the result.
	Type *cel.Type

	run cel.Program
}

// Scope declares the variables of a compiler's expressions besides the request and its
// objects.
type Scope struct {
	// Params: expressions may use params.
	Params bool
	// Variables: expressions may use variables.
	Variables bool
	// Functions decides which functions expressions may call.
	Functions Writer
}

// Compiler compiles the expressions of one policy or webhook. It is not safe
// for concurrent use.
type Compiler struct {
	scope     Scope
	declared  map[string]*cel.Type
	variables map[string]*Program
	envs      map[envOptions]*cel.Env
}

// NewCompiler returns a compiler without declared variables.
func NewCompiler(scope Scope) *Compiler {
	return &Compiler{scope: scope, declared: map[string]*cel.Type{}, variables: map[string]*Program{}, envs: map[envOptions]*cel.Env{}}
}

// WithStored returns a compiler of expressions with the same variables, of which others count as stored.
func (c *Compiler) WithStored(stored func(text string) bool) *Compiler {
	other := *c
	other.scope.Functions.Stored = stored
	return &other
}

// env returns the environment for o with the compiler's variables.
func (c *Compiler) env(o envOptions) (*cel.Env, error) {
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

// Declare adds a variable for the expressions that are compiled later.
func (c *Compiler) Declare(name, text string) *Program {
	p := c.compile(text, envOptions{authorizer: true}, nil)
	c.declared[name] = declaredAs(p.Type)
	c.variables[name] = p
	return p
}

// Compile compiles an expression whose type must be one of results; nil permits any type.
func (c *Compiler) Compile(text string, results []*cel.Type) *Program {
	return c.compile(text, envOptions{authorizer: true}, results)
}

// CompileMessage compiles an expression that cannot use the authorizer.
func (c *Compiler) CompileMessage(text string, results []*cel.Type) *Program {
	return c.compile(text, envOptions{}, results)
}

// CompileMutation compiles an expression of a mutation.
func (c *Compiler) CompileMutation(text string, results []*cel.Type) *Program {
	return c.compile(text, envOptions{authorizer: true, patches: true}, results)
}

func (c *Compiler) compile(text string, o envOptions, results []*cel.Type) *Program {
	p := &Program{Text: text}
	o.params, o.library = c.scope.Params, c.scope.Functions.Library(text)
	env, err := c.env(o)
	if err != nil {
		p.Err = &apicel.Error{Type: apicel.ErrorTypeInternal, Detail: fmt.Sprintf("unexpected error loading CEL environment: %v", err)}
		return p
	}
	checked, issues := env.Compile(text)
	if issues != nil {
		p.Err = &apicel.Error{Type: apicel.ErrorTypeInvalid, Detail: "compilation failed: " + issues.String(),
			Cause: apicel.NewCompilationError(issues)}
		return p
	}
	if fault := wrongResult(checked.OutputType(), results); fault != "" {
		p.Err = &apicel.Error{Type: apicel.ErrorTypeInvalid, Detail: fault}
		return p
	}
	run, err := env.Program(checked, append(celbounds.Options(env), cel.InterruptCheckFrequency(checkFrequency))...)
	if err != nil {
		p.Err = &apicel.Error{Type: apicel.ErrorTypeInternal, Detail: "program instantiation failed: " + err.Error()}
		return p
	}
	p.Type, p.run = checked.OutputType(), run
	return p
}

// wrongResult returns an error text if the result type t is not in results; nil results
// permit any type.
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
