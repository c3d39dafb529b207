package structural

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/expression"
)

// faultsOf returns the errors of a schema in JSON of the field f of an object.
func faultsOf(t *testing.T, schema string) []string {
	t.Helper()
	s := &props{}
	if err := json.Unmarshal([]byte(`{"type":"object","properties":{"f":`+schema+`}}`), s); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, err := range Check(s, field.NewPath("s"), expression.Writer{}) {
		out = append(out, strings.TrimPrefix(err.Error(), "s.properties[f]."))
	}
	return out
}

// TestDefaultThatBreaksRules checks that a default has an error for each rule that it breaks, and the
// texts of odd messages.
func TestDefaultThatBreaksRules(t *testing.T) {
	for _, c := range []struct{ rules, want string }{
		{`{"rule":"!self"},{"rule":"!self"}`, "default: Invalid value: true: failed rule: !self; default: Invalid value: true: failed rule: !self"},
		{`{"rule":"!self","message":"m"},{"rule":"self == false","message":"m"}`, "default: Invalid value: true: m; default: Invalid value: true: m"},
		{`{"rule":"!self","messageExpression":"' '"}`, "default: Invalid value: true: failed rule: !self"},
	} {
		if got := strings.Join(faultsOf(t, `{"type":"boolean","default":true,"x-kubernetes-validations":[`+c.rules+`]}`), "; "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.rules, got, c.want)
		}
	}
	blank := faultsOf(t, `{"type":"boolean","default":true,"x-kubernetes-validations":[{"rule":"!self","message":" "}]}`)
	if len(blank) == 0 || blank[0] != "default: Invalid value: true" {
		t.Errorf("blank message: %q", blank)
	}
}

// TestIntegerOrString checks which forms of anyOf may accompany x-kubernetes-int-or-string.
func TestIntegerOrString(t *testing.T) {
	for anyOf, ok := range map[string]bool{
		`{"type":"integer"},{"type":"string"}`:                                 true,
		`{"type":"string"},{"type":"integer"}`:                                 false,
		`{"type":"integer","additionalProperties":false},{"type":"string"}`:    true,
		`{"type":"integer","additionalProperties":true},{"type":"string"}`:     false,
		`{"type":"integer","nullable":false},{"type":"string","items":null}`:   true,
		`{"type":"integer"},{"type":"string","enum":[],"anyOf":[],"allOf":[]}`: true,
		`{"type":"integer"},{"type":"string","required":[]}`:                   false,
		`{"type":"integer","properties":{}},{"type":"string"}`:                 false,
		`{"type":"integer","x-kubernetes-list-map-keys":[]},{"type":"string"}`: false,
		`{"type":"integer"},{"type":"string"},{"type":"string"}`:               false,
		`{"type":"integer"},{"type":"string","definitions":{}}`:                true,
	} {
		got := faultsOf(t, `{"x-kubernetes-int-or-string":true,"anyOf":[`+anyOf+`]}`)
		if (len(got) == 0) != ok {
			t.Errorf("%s: %q", anyOf, got)
		}
		got = faultsOf(t, `{"x-kubernetes-int-or-string":true,"allOf":[{"anyOf":[`+anyOf+`]}]}`)
		if (len(got) == 0) != ok {
			t.Errorf("in allOf: %s: %q", anyOf, got)
		}
	}
}
