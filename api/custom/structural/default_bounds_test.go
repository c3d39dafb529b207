package structural

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestDefaultBounds checks that defaults that make gigabytes of a small object are refused before they are set, with
// the field that has them.
func TestDefaultBounds(t *testing.T) {
	const limit = 1 << 20
	long := strings.Repeat("d", 10_000)
	item := `{"type":"object","properties":{"x":{"type":"string","default":"` + long + `"}}}`
	nested := `{"type":"object","properties":{"x":{"type":"string","default":"dddd"}}}`
	for range 6 {
		nested = `{"type":"object","properties":{"many":{"type":"array","items":` + nested + `,"default":[` + strings.Repeat("{},", 49) + `{}]}}}`
	}
	list := func(n int) string { return "[" + strings.Repeat("{},", n) + "{}]" }
	fields := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"f%d":{},`, i)
		}
		return "{" + b.String() + `"f":{}}`
	}
	for _, tt := range []struct{ name, schema, object, path string }{
		{"few items", `{"type":"object","properties":{"a":{"type":"array","items":` + item + `}}}`, `{"a":` + list(10) + `}`, ""},
		{"many items", `{"type":"object","properties":{"a":{"type":"array","items":` + item + `}}}`, `{"a":` + list(20_000) + `}`, "a.10"},
		{"many fields", `{"type":"object","properties":{"a":{"type":"object","additionalProperties":` + item + `}}}`, `{"a":` + fields(20_000) + `}`, "a.f"},
		{"nulls in a list", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","default":"` + long + `"}}}}`, `{"a":[` + strings.Repeat("null,", 1000) + `null]}`, "a.1"},
		{"null fields", `{"type":"object","additionalProperties":{"type":"string","default":"` + long + `"}}`, strings.ReplaceAll(fields(1000), "{}", "null"), "f"},
		{"defaults in defaults", nested, `{}`, "many.0.many.0.many"},
	} {
		s := schemaOf(t, tt.schema)
		err := s.Default(objectOf(t, tt.object), limit)
		if (err == nil) != (tt.path == "") || err != nil && !strings.HasPrefix(err.Error(), tt.path) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.path)
		}
		s.DefaultIsIdempotent() // it ends
	}
	// An object within its bounds, with defaults within theirs, can be too large.
	s := schemaOf(t, `{"type":"object","properties":{"a":{"type":"array","items":`+item+`},"b":{"type":"string"}}}`)
	object := objectOf(t, `{"a":`+list(50)+`,"b":"`+strings.Repeat("b", 700_000)+`"}`)
	if err := s.Default(object, limit); err == nil || !strings.Contains(err.Error(), "max object size") {
		t.Errorf("together: %v", err)
	}
}

// TestCostlyComparison checks that a rule that compares lists of shared lists ends.
func TestCostlyComparison(t *testing.T) {
	expression := "self.l"
	for i := range 30 {
		expression = fmt.Sprintf("[%s].map(v%d, [v%d, v%d])", expression, i, i, i)
	}
	rule, err := json.Marshal(expression + " == " + expression)
	if err != nil {
		t.Fatal(err)
	}
	s := schemaOf(t, `{"type":"object","properties":{"l":{"type":"array","maxItems":3,"items":{"type":"string","maxLength":9}}},"x-kubernetes-validations":[{"rule":`+string(rule)+`}]}`)
	errs := s.Validate(t.Context(), Write{Object: objectOf(t, `{"l":["a","b"]}`)})
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "cost limit exceeded") {
		t.Errorf("%.300v", errs)
	}
}
