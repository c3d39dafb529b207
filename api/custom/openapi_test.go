package custom

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestPublishedSchemas compares the published schema of a definition that uses every keyword
// with kube-apiserver's (testdata/openapi.json).
func TestPublishedSchemas(t *testing.T) {
	data, err := os.ReadFile("testdata/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var d apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(data, &d); err != nil {
		t.Fatal(err)
	}
	before := d.DeepCopy()
	if data, err = os.ReadFile("testdata/openapi.json"); err != nil {
		t.Fatal(err)
	}
	var want, got struct{ V2, V3 map[string]any }
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	got.V2, got.V3 = map[string]any{}, map[string]any{}
	for _, v := range d.Spec.Versions {
		defs, err := buildDefinitions(&d.Spec, d.Spec.Names, &v, v.Schema.OpenAPIV3Schema)
		if err != nil {
			t.Fatal(err)
		}
		for _, def := range defs {
			got.V2[def.Name], got.V3[def.Name] = decodeJSON(t, def.V2), decodeJSON(t, def.V3)
		}
	}
	if !reflect.DeepEqual(got, want) {
		published, err := json.MarshalIndent(got, "", " ")
		t.Errorf("got %s %v", published, err)
	}
	if !reflect.DeepEqual(&d, before) {
		t.Error("publishing changed the definition")
	}
}

// TestPublishedOfOlder checks older definitions: they may preserve unknown fields, which
// OpenAPI v3 does not mention, and neither version publishes fields if the schema is not
// structural.
func TestPublishedOfOlder(t *testing.T) {
	for text, fields := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}}}`:            true,
		`{"type":"object","properties":{"a":{}}}`:                           false,
		`{"type":"object","patternProperties":{"^a":{"type":"string"}}}`:    false,
		`{"properties":{"a":{"type":"string"}},"required":["a"]}`:           false,
		`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`:     true,
		`{"type":"object","anyOf":[{"properties":{"b":{"minimum":1}}}]}`:    false,
		`{"type":"object","properties":{"a":{"type":"array"}},"title":"x"}`: false,
	} {
		var s props
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		v2, err := publishedSchema(&s, true, true)
		if err != nil || string(v2) != `{"type":"object"}` {
			t.Errorf("%s in version 2 is %s, %v", text, v2, err)
		}
		v3, err := publishedSchema(&s, true, false)
		if err != nil {
			t.Fatal(err)
		}
		published := decodeJSON(t, v3).(map[string]any)
		if published["properties"] != nil != fields || published["x-kubernetes-preserve-unknown-fields"] != nil != preservesUnknown(&s) {
			t.Errorf("%s in version 3 is %s", text, v3)
		}
	}
}

func decodeJSON(t *testing.T, data []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return v
}
