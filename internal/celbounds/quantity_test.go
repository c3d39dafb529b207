package celbounds

import (
	"fmt"
	"testing"

	"github.com/google/cel-go/cel"
	"k8s.io/apiserver/pkg/cel/library"
)

// TestQuantities checks that the functions have the results of the library's own, and
// refuse expensive quantities.
func TestQuantities(t *testing.T) {
	env, err := cel.NewEnv(library.Quantity(), cel.Variable("text", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		text string
		with any
		want string // empty for the result of the library
	}{
		{`quantity("1.5Gi").isGreaterThan(quantity("1G"))`, "", ""},
		{`quantity(text) == quantity("1000m")`, "1", ""},
		{`quantity(text).asInteger() + 1`, "7", ""},
		{`quantity(text).asInteger()`, "x", ""},
		{`quantity(text).asInteger()`, 7, ""},
		{`isQuantity(text)`, "x", ""},
		{`isQuantity(text)`, "1e3", ""},
		{`isQuantity(text) ? "yes" : "no"`, "", ""},
		{`[text, "1e3"].all(q, isQuantity(q) && quantity(q).isGreaterThan(quantity("1")))`, "5", ""},
		{`isQuantity("1e-2147483648")`, "", "false <nil>"},
		{`isQuantity(text)`, "1e2147483647", "false <nil>"},
		{`quantity(text).asInteger() > 0`, "1e-2147483648", "<nil> unable to parse quantity's suffix: the exponent is out of range"},
	} {
		ast, issues := env.Compile(tt.text)
		if issues != nil {
			t.Fatal(issues)
		}
		run := func(options ...cel.ProgramOption) string {
			program, err := env.Program(ast, options...)
			if err != nil {
				return err.Error()
			}
			out, _, err := program.Eval(map[string]any{"text": tt.with})
			if out == nil || err != nil {
				return fmt.Sprint("<nil> ", err)
			}
			return fmt.Sprint(out.Value(), " ", err)
		}
		want := tt.want
		if want == "" {
			want = run()
		}
		for name, options := range map[string][]cel.ProgramOption{"plain": {}, "optimized": {cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost), cel.CostLimit(1e6)}} {
			if got := run(append(options, Quantities())...); got != want {
				t.Errorf("%s of %v, %s: %s, want %s", tt.text, tt.with, name, got, want)
			}
		}
	}
}
