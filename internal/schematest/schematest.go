// Package schematest validates objects against OpenAPI schemas, for the tests of package
// openapi and of published schemas.
package schematest

import (
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// refPrefix is the prefix of references in OpenAPI v3.
const refPrefix = "#/components/schemas/"

// Validator validates objects against one schema.
type Validator struct{ v *validate.SchemaValidator }

// New returns a validator for one of schemas, which may refer to each other.
func New(schemas map[string]*spec.Schema, name string) *Validator {
	return &Validator{validate.NewSchemaValidator(expand(schemas, schemas[name]), nil, "", strfmt.Default)}
}

// Validate returns the errors of a decoded JSON object; nil if it is valid.
func (v *Validator) Validate(object any) error {
	if result := v.v.Validate(object); !result.IsValid() {
		return result.AsError()
	}
	return nil
}

// expand replaces references by their schemas, because the validator does not resolve them.
// A recursive reference becomes a schema that accepts everything.
func expand(schemas map[string]*spec.Schema, s *spec.Schema, inside ...string) *spec.Schema {
	if ref := s.Ref.String(); ref != "" {
		name := ref[len(refPrefix):]
		if slices.Contains(inside, name) {
			return &spec.Schema{}
		}
		return expand(schemas, schemas[name], append(slices.Clip(inside), name)...)
	}
	part := func(p *spec.Schema) *spec.Schema { return expand(schemas, p, inside...) }
	c := *s
	c.Nullable = true // null means not set
	if c.Format == "int-or-string" {
		c.Format = "" // the validator supports only formats of strings
	}
	c.Properties = map[string]spec.Schema{}
	for name, p := range s.Properties {
		c.Properties[name] = *part(&p)
	}
	c.AllOf = nil
	for _, p := range s.AllOf {
		c.AllOf = append(c.AllOf, *part(&p))
	}
	if s.Items != nil && s.Items.Schema != nil {
		c.Items = &spec.SchemaOrArray{Schema: part(s.Items.Schema)}
	}
	if p := s.AdditionalProperties; p != nil && p.Schema != nil {
		c.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: part(p.Schema)}
	}
	return &c
}
