package openapi

import (
	"maps"
	"slices"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// Every object that kube-apiserver listed is valid by the schema of its kind.
func TestExamplesAreValid(t *testing.T) {
	var lists map[string]list
	load(t, "objects.json.gz", &lists)
	defs, named := open(t), models(lists)
	count := 0
	for _, path := range slices.Sorted(maps.Keys(named)) {
		schemas, err := defs.Schemas(named[path])
		if err != nil {
			t.Fatal(err)
		}
		schema := expand(schemas, schemas[named[path]])
		v := validate.NewSchemaValidator(schema, nil, "", strfmt.Default)
		for _, item := range lists[path].Items {
			count++
			if result := v.Validate(item); !result.IsValid() {
				t.Errorf("%s: %v\n%v", path, result.AsError(), item)
			}
		}
		// And the validator would tell.
		if v.Validate(map[string]any{"metadata": "nothing"}).IsValid() {
			t.Errorf("%s: anything is valid", path)
		}
	}
	if count < 100 {
		t.Errorf("only %d examples", count)
	}
}

// expand puts what a schema refers to in the place of the reference, because the
// validator does not follow any. No served kind contains itself.
func expand(schemas map[string]*spec.Schema, s *spec.Schema) *spec.Schema {
	if ref := s.Ref.String(); ref != "" {
		return expand(schemas, schemas[ref[len(refV3):]])
	}
	c := *s
	c.Nullable = true // null means not set
	if c.Format == "int-or-string" {
		c.Format = "" // for the validator a format is one of strings
	}
	c.Properties = map[string]spec.Schema{}
	for name, p := range s.Properties {
		c.Properties[name] = *expand(schemas, &p)
	}
	c.AllOf = nil
	for _, part := range s.AllOf {
		c.AllOf = append(c.AllOf, *expand(schemas, &part))
	}
	if s.Items != nil && s.Items.Schema != nil {
		c.Items = &spec.SchemaOrArray{Schema: expand(schemas, s.Items.Schema)}
	}
	if p := s.AdditionalProperties; p != nil && p.Schema != nil {
		c.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: expand(schemas, p.Schema)}
	}
	return &c
}
