package conversation

import (
	"reflect"
	"testing"
)

// value decodes JSON.
func value(t *testing.T, text string) any {
	t.Helper()
	v, err := decodeJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestDifferences(t *testing.T) {
	for _, tt := range []struct {
		want, got string
		paths     []string
	}{
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, nil},
		{`1`, `1.0`, nil},
		{`1`, `true`, nil},
		{`9223372036854775807`, `9223372036854775808`, []string{""}},
		{`9007199254740993`, `9007199254740992.0`, []string{""}},
		{`0.1`, `1e-1`, nil},
		{`"1"`, `1`, []string{""}},
		{`null`, `{}`, []string{""}},
		{`{"a":null}`, `{}`, []string{"a"}},
		{`{"a":{"b":[1,2]}}`, `{"a":{"b":[1,3]},"c":0}`, []string{"a.b[1]", "c"}},
		{`[1,2]`, `[1]`, []string{".length"}},
		{`{"a":[1,2]}`, `{"a":[3]}`, []string{"a.length", "a[0]"}},
	} {
		var paths []string
		for _, d := range differences(value(t, tt.want), value(t, tt.got), "") {
			paths = append(paths, d.Path)
		}
		if !reflect.DeepEqual(paths, tt.paths) {
			t.Errorf("%s and %s differ at %q, want %q", tt.want, tt.got, paths, tt.paths)
		}
	}
}

func TestLookup(t *testing.T) {
	v := value(t, `{"items":[{"name":"x","labels":{"a.b":"c"}}]}`)
	for path, want := range map[string]any{
		"items.0.name":         "x",
		"items.0.labels.a~1b":  "c",
		"items.1.name":         nil,
		"items.-1":             nil,
		"items.name":           nil,
		"items.0.name.further": nil,
		"none":                 nil,
	} {
		if got := lookup(v, path); got != want {
			t.Errorf("lookup %s = %v, want %v", path, got, want)
		}
	}
}

func TestMasked(t *testing.T) {
	const resp = `{"status":200,"headers":{"warning":"w","allow":"a"},"body":{"a":{"b":1,"c.d":2},"l":[{"x":1,"y":2},{"x":3}],"m":{"n":{"o":1}}}}`
	for _, tt := range []struct {
		name string
		resp string
		step Step
		want string
	}{
		{"nothing", resp, Step{}, resp},
		{"header", resp, Step{Ignore: []string{"headers.warning"}, Only: []string{}}, `{"status":200,"headers":{"allow":"a"}}`},
		{"paths", resp, Step{Ignore: []string{"a.c~1d", "l.*.x", "l.1.y", "m.*.o", "none.x"}},
			`{"status":200,"headers":{"warning":"w","allow":"a"},"body":{"a":{"b":1},"l":[{"y":2},{}],"m":{"n":{}}}}`},
		{"element", resp, Step{Ignore: []string{"l.0", "a", "m"}},
			`{"status":200,"headers":{"warning":"w","allow":"a"},"body":{"l":[{"x":3}]}}`},
		{"only", resp, Step{Only: []string{"a.b", "z"}}, `{"status":200,"headers":{"warning":"w","allow":"a"},"body":{"a.b":1,"z":null}}`},
		{"recorded only", `{"status":200,"headers":{},"only":{"a.b":1}}`, Step{Only: []string{"a.b"}}, `{"status":200,"headers":{},"body":{"a.b":1}}`},
		{"events", `{"status":200,"headers":{},"events":[{"type":"ADDED","object":{"a":1}}]}`, Step{Ignore: []string{"object.a"}},
			`{"status":200,"headers":{},"events":[{"type":"ADDED","object":{}}]}`},
	} {
		given := value(t, tt.resp)
		got := normaliser{}.masked(given.(map[string]any), tt.step)
		if d := differences(value(t, tt.want), any(got), ""); len(d) > 0 {
			t.Errorf("%s: %v", tt.name, d)
		}
		if d := differences(value(t, tt.resp), given, ""); len(d) > 0 {
			t.Errorf("%s: it changed what it was given: %v", tt.name, d)
		}
	}
}
