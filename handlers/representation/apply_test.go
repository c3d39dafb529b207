package representation

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
)

// TestNumbersOfApplyConfigurations checks that an apply configuration of a custom resource has
// integers where the number is whole, whether it is JSON or YAML. CEL rules and schemas with type
// integer depend on it.
func TestNumbersOfApplyConfigurations(t *testing.T) {
	c := &Codec{resource: &api.Resource{Custom: &api.Custom{}}}
	want := map[string]any{"list": []any{
		int64(1), int64(2), int64(3000), 1.5, int64(9007199254740993), int64(-9223372036854775808), 9223372036854775808.0, 1e20, "4.0",
	}}
	for name, body := range map[string]string{
		"JSON": `{"list":[1,2.0,3e3,1.5,9007199254740993,-9223372036854775808,9223372036854775808,1e20,"4.0"]}`,
		"YAML": "list:\n- 1\n- 2.0\n- 3e3\n- 1.5\n- 9007199254740993\n- -9223372036854775808\n- 9223372036854775808\n- 1e20\n- '4.0'\n",
	} {
		got, err := c.DecodeApplied(types.ApplyYAMLPatchType, []byte(body))
		if err != nil || !reflect.DeepEqual(got.Content, want) {
			t.Errorf("%s: got %#v and error %v, want %#v", name, got, err, want)
		}
	}
}

// TestDuplicatesOfApplyConfigurations checks what field validation makes of a duplicate field.
func TestDuplicatesOfApplyConfigurations(t *testing.T) {
	c := &Codec{resource: &api.Resource{Custom: &api.Custom{}}}
	a, err := c.DecodeApplied(types.ApplyYAMLPatchType, []byte(`{"a":1,"a":2}`))
	if err != nil {
		t.Fatal(err)
	}
	const fault = `line 1: key "a" already set in map`
	for validation, want := range map[string]struct {
		warnings []string
		err      string
	}{
		"Ignore": {},
		"Warn":   {warnings: []string{fault}},
		"":       {warnings: []string{fault}},
		"Strict": {err: "error strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:\n  " + fault},
	} {
		scope, text := &request.Scope{}, ""
		if err := a.CheckDuplicates(scope, validation); err != nil {
			text = err.Error()
		}
		if got := scope.Warnings(); text != want.err || !slices.Equal(got, want.warnings) {
			t.Errorf("%q: got %q and error %s", validation, got, text)
		}
	}
}

// TestJSONThatIsNotYAML checks that a JSON apply configuration which YAML reads differently is read as
// YAML, and that others are not, which would be slower.
func TestJSONThatIsNotYAML(t *testing.T) {
	c := &Codec{resource: &api.Resource{Custom: &api.Custom{}}}
	for body, fast := range map[string]bool{
		`{"a":"\ud83d\ude00"}`: false,
		`{"a":"\uD83D"}`:       false,
		`{"a":"\/"}`:           false,
		"{\"a\":\"b\u2028c\"}": false,
		"{\"a\":\"b\u0085c\"}": false,
		"{\"a\":\"\x7f\"}":     false,
		"{\t\"a\":1}":          false,
		`{"a":"\ud7ff\u003c\n\t\\\"\b\f\r 😀é\u00A0"}`: true,
		"{\n  \"a\": 1\n}": true,
		"{\"a\"\n:1}":      false,
		"{\"a\"  :\n1}":    true,
		`{"` + strings.Repeat("k", 1021) + `":1}`:   true,
		`{"` + strings.Repeat("k", 1022) + `":1}`:   false,
		`{"a":"` + strings.Repeat("v", 2000) + `"}`: true,
	} {
		if _, ok := appliedJSON([]byte(body)); ok != fast {
			t.Errorf("%q is read as JSON: %t", body, ok)
		}
		want, wantErr := appliedYAML([]byte(body))
		got, err := c.DecodeApplied(types.ApplyYAMLPatchType, []byte(body))
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got.Content, want.Content) {
			t.Errorf("%q: %v and error %v, YAML %v and error %v", body, got, err, want, wantErr)
		}
	}
}
