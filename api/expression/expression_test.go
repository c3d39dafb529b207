package expression

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// input resolves the names of a test, and counts how often each is looked up.
type input struct {
	values map[string]any
	looked map[string]int
}

func (i input) ResolveName(name string) (any, bool) {
	i.looked[name]++
	v, ok := i.values[name]
	return v, ok
}

func newInput() input {
	return input{map[string]any{"object": map[string]any{"n": int64(2)}, "oldObject": nil}, map[string]int{}}
}

func TestEvaluate(t *testing.T) {
	for _, c := range []struct {
		text    string
		want    any
		compile string // the error of the compiler
		run     string // the error of the evaluation
	}{
		{"object.n == 2", true, "", ""},
		{"variables.twice == 4", true, "", ""},
		{"object.n + 'a' == 'b'", nil, "", "no such overload"},
		{"object.n", nil, "must evaluate to bool but got dyn", "compilation error"},
		{"object.missing == 1", nil, "", "resulted in error: no such key: missing"},
		{"variables.fails == 1", nil, "", `composited variable "fails" fails to evaluate`},
		{"variables.later", nil, "undefined field 'later'", "compilation error"},
		{"'text'", nil, "must evaluate to bool", "compilation error"},
		{"object.", nil, "Syntax error", "compilation error"},
		{"unknown", nil, "undeclared reference", "compilation error"},
		{"params.a", nil, "undeclared reference to 'params'", "compilation error"},
	} {
		compiler := NewCompiler(Scope{Variables: true})
		compiler.Declare("twice", "object.n * 2")
		compiler.Declare("fails", "object.missing")
		p := compiler.Compile(c.text, Bool())
		compiler.Declare("later", "true")
		if (p.Err == nil) != (c.compile == "") || p.Err != nil && !strings.Contains(p.Err.Error(), c.compile) {
			t.Errorf("%s: compiled with %v", c.text, p.Err)
		}
		v, err := compiler.Frame(t.Context(), newInput(), Budget).Evaluate(p)
		switch {
		case err == nil && v.Value() != c.want:
			t.Errorf("%s: got %v (%T)", c.text, v.Value(), v.Value())
		case err != nil && (c.run == "" || !strings.Contains(err.Error(), c.run) || OutOfBudget(err)):
			t.Errorf("%s: got %v", c.text, err)
		}
	}
}

// TestVariablesOnce checks that a variable is computed once for each frame, and only if an
// expression refers to it.
func TestVariablesOnce(t *testing.T) {
	compiler := NewCompiler(Scope{Variables: true})
	compiler.Declare("n", "object.n")
	compiler.Declare("unused", "oldObject == null")
	p := compiler.Compile("variables.n == 2 && variables.n < 3", Bool())
	in := newInput()
	f := compiler.Frame(t.Context(), in, Budget)
	for range 2 {
		if v, err := f.Evaluate(p); err != nil || v.Value() != true {
			t.Fatalf("got %v, %v", v, err)
		}
	}
	if in.looked["object"] != 1 || in.looked["oldObject"] != 0 {
		t.Errorf("looked up %v", in.looked)
	}
}

// TestBudget checks that expressions of a frame share a budget, and that the error of the
// expression that exceeds it differs from other errors.
func TestBudget(t *testing.T) {
	compiler := NewCompiler(Scope{})
	p := compiler.Compile("object.n == 2", Bool())
	f := compiler.Frame(t.Context(), newInput(), Budget)
	if _, err := f.Evaluate(p); err != nil {
		t.Fatal(err)
	}
	cost := int64(Budget) - f.RemainingBudget()
	if cost <= 0 {
		t.Fatalf("the expression costs %d", cost)
	}
	f = compiler.Frame(t.Context(), newInput(), 2*cost)
	for i := range 3 {
		if _, err := f.Evaluate(p); OutOfBudget(err) != (i == 2) {
			t.Errorf("evaluation %d: %v, %d left", i, err, f.RemainingBudget())
		}
	}
}

// TestDoublingVariables checks that variables that double what is before them are refused as if they were too costly.
func TestDoublingVariables(t *testing.T) {
	for _, tt := range []struct{ name, first, step, last string }{
		{"text", "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'", "V + V", "variables.v39.size() > 0"},
		{"replaced text", "'aaaaaaaaaa'", "V.replace('a', V)", "variables.v39.size() > 0"},
		{"formatted text", "'aaaaaaaaaa'", "'%s%s%s%s'.format([V, V, V, V])", "variables.v39.size() > 0"},
		{"list", "[1]", "V + V", "variables.v39.size() > 0"},
		{"shared lists", "[1]", "[V, V]", "variables.v39 == variables.v39"},
		{"shared maps", "{'a': 1}", "{'a': V, 'b': V}", "variables.v39 != variables.v39"},
	} {
		c := NewCompiler(Scope{Variables: true})
		c.Declare("v0", tt.first)
		for i := 1; i < 40; i++ {
			c.Declare(fmt.Sprint("v", i), strings.ReplaceAll(tt.step, "V", fmt.Sprint("variables.v", i-1)))
		}
		if _, err := c.Frame(t.Context(), newInput(), Budget).Evaluate(c.Compile(tt.last, Bool())); err == nil || !strings.Contains(err.Error(), "cost limit exceeded") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestInterruptedFrame checks that a frame evaluates nothing after its request, and no more variables than its budget
// permits.
func TestInterruptedFrame(t *testing.T) {
	c := NewCompiler(Scope{Variables: true})
	c.Declare("a", "object.n")
	p := c.Compile("variables.a == 2", Bool())
	ctx, cancel := context.WithCancel(t.Context())
	in := newInput()
	f := c.Frame(ctx, in, Budget)
	cancel()
	if _, err := f.Evaluate(p); err == nil || !strings.Contains(err.Error(), "interrupted") || in.looked["object"] != 0 {
		t.Errorf("after the request: %v, looked up %v", err, in.looked)
	}
	c.Declare("b", "object.n + 1")
	in = newInput()
	_, err := c.Frame(t.Context(), in, 1).Evaluate(c.Compile("variables.a + variables.b + variables.a == 2", Bool()))
	if !OutOfBudget(err) || in.looked["object"] > 1 {
		t.Errorf("beyond the budget: %v, looked up %v", err, in.looked)
	}
}

// TestAuthorizerInMessages checks that message expressions have no authorizer.
func TestAuthorizerInMessages(t *testing.T) {
	const text = `authorizer.path('/').check('get').allowed() ? 'a' : 'b'`
	if p := NewCompiler(Scope{}).Compile(text, String()); p.Err != nil {
		t.Errorf("a rule: %v", p.Err)
	}
	if p := NewCompiler(Scope{}).CompileMessage(text, String()); p.Err == nil || !strings.Contains(p.Err.Error(), "undeclared reference to 'authorizer'") {
		t.Errorf("a message: %v", p.Err)
	}
}
