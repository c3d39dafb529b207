// Package schematest tells whether objects are valid by OpenAPI schemas, for the
// tests of package openapi and of what a server says of itself.
package schematest

import (
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// refPrefix begins the references of documents of version 3.
const refPrefix = "#/components/schemas/"

// Validator validates objects by one schema.
type Validator struct{ v *validate.SchemaValidator }

// New makes a validator of one of schemas, which refer to each other.
func New(schemas map[string]*spec.Schema, name string) *Validator {
	return &Validator{validate.NewSchemaValidator(expand(schemas, schemas[name]), nil, "", strfmt.Default)}
}

// Validate tells what is wrong with a decoded JSON object; nil when it is valid.
func (v *Validator) Validate(object any) error {
	if result := v.v.Validate(object); !result.IsValid() {
		return result.AsError()
	}
	return nil
}

// expand puts what a schema refers to in the place of the reference, because the
// validator does not follow any. Where a definition comes inside itself again,
// anything goes.
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
		c.Format = "" // for the validator a format is one of strings
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
