package openapi

import "testing"

// TestLayout checks the order of members for parts that no published kind has. The documents of published kinds
// are checked where they are served.
func TestLayout(t *testing.T) {
	schema := allForms().schema
	for _, c := range []struct {
		name, text string
		form       *form
		want       string
	}{
		{"no form", `{"b":1,"a":{"d":[{"f":1,"e":2}],"c":null}}`, nil, `{"a":{"c":null,"d":[{"e":2,"f":1}]},"b":1}`},
		{"longer names", `{"ab":1,"a":2,"a!":3}`, nil, `{"a":2,"a!":3,"ab":1}`},
		{"blanks", "{ \"b\" : 1 ,\n\"a\" : [ 1 , 2 ] }", nil, `{"a":[1,2],"b":1}`},
		{"schema", `{"x-b":1,"x-a":1,"properties":{"type":{"type":"string","description":"d"},"a":{"$ref":"r","description":"d"}},"type":"object"}`, schema,
			`{"type":"object","properties":{"a":{"description":"d","$ref":"r"},"type":{"description":"d","type":"string"}},"x-a":1,"x-b":1}`},
		{"default", `{"default":{"type":1,"description":2},"type":"object"}`, schema, `{"type":"object","default":{"description":2,"type":1}}`},
		{"items", `{"items":{"type":"string","nullable":true},"anyOf":[{"type":"integer","format":"int32"},{"type":"string"}]}`, schema,
			`{"items":{"type":"string","nullable":true},"anyOf":[{"type":"integer","format":"int32"},{"type":"string"}]}`},
		{"rules", `{"x-kubernetes-validations":[{"message":"m","rule":"r"}]}`, schema, `{"x-kubernetes-validations":[{"rule":"r","message":"m"}]}`},
		{"scalar", `"a"`, schema, `"a"`},
	} {
		if got := string(layout([]byte(c.text), c.form)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	if got, want := string(layoutV3([]byte(`{"info":{"title":"<a & b>"},"openapi":"3"}`))), `{"openapi":"3","info":{"title":"\u003ca \u0026 b\u003e"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
