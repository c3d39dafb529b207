package structural

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
)

// compiled returns the schema of p, or an error if it cannot be compiled.
func compiled(p *props) (*Schema, error) {
	s := New(func() (*props, error) { return p, nil }, Release{})
	return s, s.Err()
}

func schemaOf(t *testing.T, text string) *Schema {
	t.Helper()
	var p props
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	s, err := compiled(&p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func objectOf(t *testing.T, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := utiljson.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestPrune(t *testing.T) {
	s := schemaOf(t, `{"type":"object","properties":{"spec":{"type":"object","properties":{
		"a":{"type":"string"},
		"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"k":{"type":"object"}}},
		"l":{"type":"array","items":{"type":"object","properties":{"c":{"type":"string"}}}},
		"m":{"type":"object","additionalProperties":{"type":"object","properties":{"d":{"type":"string"}}}},
		"e":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"x":{"type":"string"}}}}}}}`)
	obj := objectOf(t, `{"apiVersion":"g/v1","kind":"K","metadata":{"name":"n"},"top":1,"spec":{"a":"1","zz":1,
		"free":{"any":[1],"k":{"zz":1}},"l":[{"c":"1"},{"zz":1}],"m":{"q":{"d":"1","zz":1}},
		"e":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"x":"1","zz":1}}}`)
	want := []string{"spec.e.zz", "spec.free.k.zz", "spec.l[1].zz", "spec.m.q.zz", "spec.zz", "top"}
	if got, err := s.Coerce(obj); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("dropped %q, want %q (%v)", got, want, err)
	}
	left := objectOf(t, `{"apiVersion":"g/v1","kind":"K","metadata":{"name":"n"},"spec":{"a":"1",
		"free":{"any":[1],"k":{}},"l":[{"c":"1"},{}],"m":{"q":{"d":"1"}},
		"e":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"x":"1"}}}`)
	if !reflect.DeepEqual(obj, left) {
		t.Errorf("left %v, want %v", obj, left)
	}
	if again, err := s.Coerce(obj); err != nil || len(again) > 0 {
		t.Errorf("dropped again: %q (%v)", again, err)
	}
}

func TestDefault(t *testing.T) {
	s := schemaOf(t, `{"type":"object","properties":{"spec":{"type":"object","default":{},"properties":{
		"a":{"type":"string","default":"x"},
		"n":{"type":"string","nullable":true,"default":"y"},
		"l":{"type":"array","items":{"type":"object","properties":{"c":{"type":"integer","default":1}}}}}}}}`)
	for in, want := range map[string]string{
		`{}`:                          `{"spec":{"a":"x","n":"y"}}`,
		`{"spec":{"a":null}}`:         `{"spec":{"a":"x","n":"y"}}`,
		`{"spec":{"n":null}}`:         `{"spec":{"a":"x","n":null}}`,
		`{"spec":{"l":[{}],"a":"b"}}`: `{"spec":{"a":"b","l":[{"c":1}],"n":"y"}}`,
	} {
		obj := objectOf(t, in)
		setDefaultsOf(t, s, obj)
		got, err := json.Marshal(obj)
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, want %s (%v)", in, got, want, err)
		}
	}
}

func TestValidate(t *testing.T) {
	s := schemaOf(t, `{"type":"object","properties":{"p":{"x-kubernetes-int-or-string":true},
		"e":{"type":"string","enum":["a","b"]},"i":{"type":"integer","minimum":3},"l":{"type":"array","maxItems":1}}}`)
	for in, want := range map[string]string{
		`{"p":1,"e":"a","i":3}`: "",
		`{"p":"x"}`:             "",
		`{"p":true}`:            `p: Invalid value: "boolean": p in body must be of type integer,string: "boolean"`,
		`{"e":"c"}`:             `e: Unsupported value: "c": supported values: "a", "b"`,
		`{"i":1}`:               `i: Invalid value: 1: i in body should be greater than or equal to 3`,
		`{"l":[1,2]}`:           `l: Too many: 2: must have at most 1 item`,
	} {
		got := ""
		if err := s.Validate(t.Context(), Write{Object: objectOf(t, in)}).ToAggregate(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

// TestFaultOrder checks that the errors of fields are sorted by name, and all others are in
// the order of the checks.
func TestFaultOrder(t *testing.T) {
	s := schemaOf(t, `{"type":"object","properties":{"z":{"maximum":1,"type":"integer"},"ab":{"maximum":1,"type":"integer"},"l":{"type":"array","items":{"maximum":1,"type":"integer"}},
		"a":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"integer","minimum":9},"c":{"type":"integer","minimum":9}},
		"allOf":[{"properties":{"x":{"maximum":1}}},{"properties":{"y":{"maximum":1}}}]}}}`)
	in := `{"z":2,"ab":2,"l":[2,0,0,0,0,0,0,0,0,0,2,2],"a":{"x":2,"y":2,"c":2}}`
	const want = `[a.x: Invalid value: 2: a.x in body should be less than or equal to 1, a.y: Invalid value: 2: a.y in body should be less than or equal to 1, ` +
		`<nil>: Invalid value: "": "a" must validate all the schemas (allOf). None validated, ` +
		`a.c: Invalid value: 2: a.c in body should be greater than or equal to 9, a.y: Invalid value: 2: a.y in body should be greater than or equal to 9, ` +
		`ab: Invalid value: 2: ab in body should be less than or equal to 1, ` +
		`l[0]: Invalid value: 2: l[0] in body should be less than or equal to 1, l[10]: Invalid value: 2: l[10] in body should be less than or equal to 1, l[11]: Invalid value: 2: l[11] in body should be less than or equal to 1, ` +
		`z: Invalid value: 2: z in body should be less than or equal to 1]`
	for range 9 {
		if got := s.Validate(t.Context(), Write{Object: objectOf(t, in)}).ToAggregate().Error(); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
}

// TestMissingFieldsLast checks that missing fields come after the faults of other fields, in the order of
// the schema.
func TestMissingFieldsLast(t *testing.T) {
	s := schemaOf(t, `{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","required":["b","a"],"properties":{"a":{"type":"string"},"b":{"type":"string"},"z":{"maximum":1,"type":"integer"}}}}}}`)
	const want = `[l[0].z: Invalid value: 2: l[0].z in body should be less than or equal to 1, l[0].b: Required value, l[0].a: Required value]`
	if got := s.Validate(t.Context(), Write{Object: objectOf(t, `{"l":[{"z":2}]}`)}).ToAggregate().Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCheck(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"object"}`: "",
		`{}`:                `s.type: Required value: must not be empty at the root`,
		`{"type":"object","properties":{"a":{"type":"string","default":1}}}`:           `s.properties[a].default: Invalid value: "integer":  in body must be of type string: "integer"`,
		`{"type":"object","anyOf":[{"type":"object"}]}`:                                `s.anyOf[0].type: Forbidden: must be empty to be structural`,
		`{"type":"object","anyOf":[{"type":"integer"},{"type":"string"}]}`:             ``,
		`{"type":"object","allOf":[{"anyOf":[{"type":"integer"},{"type":"string"}]}]}`: ``,
		`{"type":"object","not":{"additionalProperties":false}}`:                       ``,
		`{"type":"object","not":{"additionalProperties":true}}`:                        `s.not.additionalProperties: Forbidden: must be undefined to be structural`,
		`{"type":"object","properties":{"a":{"type":"string","$schema":"x"}}}`:         `s: Invalid value: "": OpenAPIV3Schema 'schema' is not supported`,
		`{"type":"object","anyOf":[{"properties":{"a":{"minimum":1}}}]}`:               `s.properties[a]: Required value: because it is defined in s.anyOf[0].properties[a]`,
	} {
		var p props
		if err := json.Unmarshal([]byte(in), &p); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := Check(&p, field.NewPath("s"), expression.Writer{}).ToAggregate(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s:\n got %q\nwant %q", in, got, want)
		}
	}
}

// TestCheckQuotesItems checks that messages quote items as kube-apiserver's internal type.
func TestCheckQuotesItems(t *testing.T) {
	var p props
	const schema = `{"type":"object","properties":{"l":{"type":"array","items":5,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"]}}}`
	if err := json.Unmarshal([]byte(schema), &p); err != nil {
		t.Fatal(err)
	}
	const want = `s.properties[l].items: Invalid value: {"Schema":null,"JSONSchemas":null}: must only have a single schema`
	if got := fmt.Sprint(Check(&p, field.NewPath("s"), expression.Writer{}).ToAggregate()); !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestPruneAnything checks that pruning removes fields inside values that
// additionalProperties: true permits, and inside lists that preserve unknown fields, as
// kube-apiserver does.
func TestPruneAnything(t *testing.T) {
	for _, tt := range []struct{ schema, in, want string }{
		{`{"type":"object","additionalProperties":true}`, `{"x":1,"y":{"z":1},"l":[{"z":1},[2]]}`, `{"x":1,"y":{},"l":[{},[2]]}`},
		{`{"type":"object","additionalProperties":true,"x-kubernetes-preserve-unknown-fields":true}`, `{"x":{"z":1}}`, `{"x":{}}`},
		{`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`, `{"x":{"z":1},"l":[{"z":1}]}`, `{"x":{"z":1},"l":[{"z":1}]}`},
		{`{"type":"array","items":{"type":"object","properties":{"a":{"type":"object"}}},"x-kubernetes-preserve-unknown-fields":true}`,
			`[{"a":{"b":1},"c":{"d":1}}]`, `[{"a":{},"c":{"d":1}}]`},
		{`{"type":"array","items":{"type":"array","items":{"type":"object"}},"x-kubernetes-preserve-unknown-fields":true}`, `[[{"c":1}]]`, `[[{"c":1}]]`},
		{`{"type":"array","items":{"type":"object"}}`, `[{"c":1}]`, `[{}]`},
	} {
		s := schemaOf(t, `{"type":"object","properties":{"v":`+tt.schema+`}}`)
		object := objectOf(t, `{"v":`+tt.in+`}`)
		s.Prune(object)
		if want := objectOf(t, `{"v":`+tt.want+`}`); !reflect.DeepEqual(object, want) {
			t.Errorf("%s makes of %s %v", tt.schema, tt.in, object)
		}
	}
}

// setDefaultsOf sets the defaults of an object.
func setDefaultsOf(t interface {
	Helper()
	Error(...any)
}, s *Schema, object map[string]any) {
	t.Helper()
	if err := s.Default(object, bounds.MaxObject); err != nil {
		t.Error(err)
	}
}
