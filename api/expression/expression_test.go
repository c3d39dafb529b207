package expression

import (
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
