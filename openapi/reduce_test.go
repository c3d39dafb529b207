package openapi

import (
	"strings"
	"testing"
)

func TestReductions(t *testing.T) {
	const name = "io.k8s.api.core.v1.Toleration"
	definition := func(r Reductions) Definition {
		t.Helper()
		defs, err := Open(r)
		if err != nil {
			t.Fatal(err)
		}
		d, ok, err := defs.Get(name)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		return d
	}
	if whole := definition(nil); !strings.Contains(string(whole.V3), `"Gt"`) {
		t.Fatal("the operator Gt is not in the definition")
	}
	reductions := Reductions{name: {Properties: []string{"tolerationSeconds"}, Values: map[string][]string{"operator": {"Gt", "Lt"}}}}
	reduced := definition(reductions)
	for _, schema := range [][]byte{reduced.V2, reduced.V3} {
		for _, gone := range []string{`"tolerationSeconds"`, `"Gt"`, "`\\\"Gt\\\"`"} {
			if strings.Contains(string(schema), gone) {
				t.Errorf("%s is still in %s", gone, schema)
			}
		}
		if !strings.Contains(string(schema), `"Exists"`) || !strings.Contains(string(schema), `"effect"`) {
			t.Errorf("too much is gone from %s", schema)
		}
	}
	parser, err := Parser(name, reductions)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Type(name).FromYAML(`{operator: Exists, tolerationSeconds: 1}`); err == nil {
		t.Error("the parser knows a removed field")
	}
	if _, err := parser.Type(name).FromYAML(`{operator: Exists}`); err != nil {
		t.Error(err)
	}
}
