package custom

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/structural"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/api/expression"
)

// drawSchema draws a schema, which may be invalid.
func drawSchema(t *rapid.T, depth int, root bool) props {
	odds := func(n int, what string) bool { return rapid.IntRange(0, n).Draw(t, what) == 0 }
	yes := true
	p := props{Type: "object"}
	if !root {
		p.Type = rapid.SampledFrom([]string{"object", "object", "array", "string", "integer", ""}).Draw(t, "type")
	}
	if depth == 0 && p.Type != "object" {
		p.Type = "string"
	}
	if p.Type == "" || odds(4, "preserve") {
		p.XPreserveUnknownFields = &yes
	}
	switch {
	case p.Type == "array":
		items := drawSchema(t, depth-1, false)
		p.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &items}
	case p.Type == "object" && !root && odds(4, "values"):
		p.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true}
		if depth > 0 && !odds(2, "any") {
			values := drawSchema(t, depth-1, false)
			p.AdditionalProperties.Schema = &values
		}
	case p.Type == "object" && depth > 0:
		p.Properties = map[string]props{}
		for range rapid.IntRange(0, 3).Draw(t, "fields") {
			p.Properties[rapid.SampledFrom([]string{"a", "b", "spec", "status"}).Draw(t, "field")] = drawSchema(t, depth-1, false)
		}
		p.XEmbeddedResource = !root && odds(3, "embedded")
	}
	if root {
		return p
	}
	p.Nullable = odds(2, "nullable")
	if odds(2, "default") && !p.XEmbeddedResource {
		raw, err := json.Marshal(drawFitting(t, &p))
		if err != nil {
			t.Fatal(err)
		}
		p.Default = &apiextensionsv1.JSON{Raw: raw}
	}
	return p
}

// drawFitting draws a value that mostly fits a schema.
func drawFitting(t *rapid.T, p *props) any {
	if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		return nil
	}
	switch p.Type {
	case "string":
		return "text"
	case "integer":
		return int64(7)
	case "array":
		return []any{drawFitting(t, p.Items.Schema)}
	case "object":
		v := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(p.Properties)) {
			if sub := p.Properties[name]; rapid.Bool().Draw(t, "has") {
				v[name] = drawFitting(t, &sub)
			}
		}
		if more := p.AdditionalProperties; more != nil && more.Schema != nil {
			v["more"] = drawFitting(t, more.Schema)
		}
		return v
	}
	return drawValue(t, 1)
}

// drawValue draws decoded JSON.
func drawValue(t *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 6).Draw(t, "kind"); {
	case kind == 0:
		return nil
	case kind == 1 || depth == 0:
		return rapid.SampledFrom([]any{"", "x", "v1", true, int64(1), 1.5, 2.0}).Draw(t, "scalar")
	case kind < 5:
		v := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "fields") {
			v[rapid.SampledFrom([]string{"a", "b", "spec", "more", "kind", "apiVersion"}).Draw(t, "field")] = drawValue(t, depth-1)
		}
		if rapid.Bool().Draw(t, "meta") {
			v["metadata"] = map[string]any{"name": drawValue(t, 0), "labels": map[string]any{"a": drawValue(t, 0)}, "odd": "x"}
		}
		return v
	}
	v := []any{}
	for range rapid.IntRange(0, 3).Draw(t, "items") {
		v = append(v, drawValue(t, depth-1))
	}
	return v
}

func drawObject(t *rapid.T) *untyped.Object {
	o := map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "x", "generation": int64(1)}}
	for range rapid.IntRange(0, 4).Draw(t, "fields") {
		o[rapid.SampledFrom([]string{"a", "b", "spec", "status"}).Draw(t, "field")] = drawValue(t, 3)
	}
	return untyped.FromContent(o)
}

// thingsOf returns a definition with the given schema.
func thingsOf(p *props) *Definition {
	d := &Definition{}
	d.Name, d.Spec.Group, d.Spec.Scope = "things.example.com", "example.com", apiextensionsv1.ClusterScoped
	d.Status.AcceptedNames = apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Singular: "thing", Kind: "Thing", ListKind: "ThingList"}
	d.Spec.Names = d.Status.AcceptedNames
	d.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: p}}}
	return d
}

// TestAsStored checks that the cached object after a write equals the object that decoding the
// stored value returns, and that a write does not change objects that were read, with which it
// shares memory.
func TestAsStored(t *testing.T) {
	kept, settled, not := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawSchema(t, 3, true)
		if errs := structural.Check(&p, nil, expression.Writer{}); len(errs) > 0 {
			t.Skip(errs)
		}
		d := thingsOf(&p)
		d.Spec.PreserveUnknownFields = rapid.IntRange(0, 9).Draw(t, "old") == 0 && !structural.HasDefaults(&p)
		kind, err := Compile(d, func() (*Definition, error) { return d, nil }, Options{})
		if err != nil {
			t.Fatal(err)
		}
		res, obj := kind.Resource, drawObject(t)
		if rapid.Bool().Draw(t, "sent") { // else it was stored before the schema changed
			if _, err := res.Custom.Schema.Coerce(contentOf(obj)); err != nil {
				t.Skip(err)
			}
			if err := res.DefaultSchema(obj); err != nil {
				t.Fatal(err)
			}
		}
		value, err := res.EncodeStored(obj)
		if err != nil {
			t.Fatal(err)
		}
		read, err := res.DecodeStored(value)
		if err != nil {
			t.Fatal(err)
		}
		want := contentOf(read)
		if res.AsStored()(obj) {
			kept++
			if !reflect.DeepEqual(contentOf(obj), want) {
				t.Errorf("kept %v\n read %v\nschema %s", obj, want, jsonOf(t, p))
			}
		}
		before := runtime.DeepCopyJSON(want)
		again := res.AsStored()(read)
		if !reflect.DeepEqual(want, before) {
			t.Errorf("what was read is changed (%t) to %v\nfrom %v\nschema %s", again, want, before, jsonOf(t, p))
		}
		if kind.Schemas[res.Hub()].DefaultIsIdempotent() {
			settled++
			if err := res.DefaultSchema(read); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(want, before) {
				t.Errorf("settled, and changed to %v\nfrom %v\nschema %s", want, before, jsonOf(t, p))
			}
		} else {
			not++
		}
	})
	if kept == 0 || settled == 0 {
		t.Errorf("%d of %d were kept, and %d more of schemas that are not settled", kept, settled, not)
	}
}

func jsonOf(t *rapid.T, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestUnsettled checks that pruning a field that defaulting had set does not change an object
// that other requests may read.
func TestUnsettled(t *testing.T) {
	keep := true
	loose := props{XPreserveUnknownFields: &keep}
	values := &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &loose}
	p := &props{Type: "object", Properties: map[string]props{"a": {Type: "object", AdditionalProperties: values, Default: &apiextensionsv1.JSON{Raw: []byte(`{"z":null}`)}}}}
	if errs := structural.Check(p, nil, expression.Writer{}); len(errs) > 0 {
		t.Fatal(errs)
	}
	d := thingsOf(p)
	kind, err := Compile(d, func() (*Definition, error) { return d, nil }, Options{})
	if err != nil {
		t.Fatal(err)
	}
	res := kind.Resource
	obj := untyped.FromContent(map[string]any{"apiVersion": "example.com/v1", "kind": "Thing"})
	if err := res.DefaultSchema(obj); err != nil {
		t.Fatal(err)
	}
	before := runtime.DeepCopyJSON(obj.Object)
	if res.AsStored()(obj) || !reflect.DeepEqual(obj.Object, before) {
		t.Errorf("%v became %v", before, obj.Object)
	}
}

// TestStoredDefaults checks that a small stored value of which the defaults make a large object is unreadable.
func TestStoredDefaults(t *testing.T) {
	var p props
	schema := `{"type":"object","properties":{"many":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string","default":"` + strings.Repeat("d", 10_000) + `"}}}}}}`
	if err := json.Unmarshal([]byte(schema), &p); err != nil {
		t.Fatal(err)
	}
	d := thingsOf(&p)
	kind, err := Compile(d, func() (*Definition, error) { return d, nil }, Options{MaxObjectBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	res := kind.Resource
	value := func(n int) []byte {
		return []byte(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"many":[` + strings.Repeat("{},", n) + `{}]}`)
	}
	if _, err := res.DecodeStored(value(10)); err != nil {
		t.Error(err)
	}
	_, err = res.DecodeStored(value(200))
	var size *api.ObjectSizeError
	if !errors.As(err, &size) || !strings.Contains(err.Error(), "many.") {
		t.Errorf("%v", err)
	}
}
