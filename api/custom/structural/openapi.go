package structural

import "k8s.io/kube-openapi/pkg/validation/spec"

// formatChoice reports whether values of a type are validated by a format.
type formatChoice func(kind spec.StringOrArray, format string) bool

// toOpenAPI converts a schema to the form of the library's validator. formats is nil to
// validate defaults, as kube-apiserver does: unknown formats stay, and
// x-kubernetes-int-or-string sets no type.
func toOpenAPI(p *props, formats formatChoice) *spec.Schema {
	if p == nil {
		return nil
	}
	s := &spec.Schema{SchemaProps: spec.SchemaProps{
		Nullable: p.Nullable, Format: p.Format, Pattern: p.Pattern,
		Maximum: p.Maximum, ExclusiveMaximum: p.ExclusiveMaximum, Minimum: p.Minimum, ExclusiveMinimum: p.ExclusiveMinimum,
		MaxLength: p.MaxLength, MinLength: p.MinLength, MaxItems: p.MaxItems, MinItems: p.MinItems, UniqueItems: p.UniqueItems,
		MultipleOf: p.MultipleOf, MaxProperties: p.MaxProperties, MinProperties: p.MinProperties, Required: p.Required,
		AllOf: toOpenAPIs(p.AllOf, formats), OneOf: toOpenAPIs(p.OneOf, formats), AnyOf: toOpenAPIs(p.AnyOf, formats),
		Not: toOpenAPI(p.Not, formats),
	}}
	if p.Type != "" {
		s.Type = spec.StringOrArray{p.Type}
	}
	if p.XIntOrString && formats != nil {
		s.Type = spec.StringOrArray{"integer", "string"}
	}
	if formats != nil && !formats(s.Type, p.Format) {
		s.Format = ""
	}
	for _, e := range p.Enum {
		if v, err := decodeValue(e.Raw); err == nil { // compile has decoded it before
			s.Enum = append(s.Enum, v)
		}
	}
	if len(p.Properties) > 0 {
		s.Properties = make(map[string]spec.Schema, len(p.Properties))
		for name, sub := range p.Properties {
			s.Properties[name] = *toOpenAPI(&sub, formats)
		}
	}
	if a := p.AdditionalProperties; a != nil {
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: a.Allows, Schema: toOpenAPI(a.Schema, formats)}
	}
	if p.Items != nil {
		s.Items = &spec.SchemaOrArray{Schema: toOpenAPI(p.Items.Schema, formats)}
	}
	return s
}

func toOpenAPIs(list []props, formats formatChoice) []spec.Schema {
	var out []spec.Schema
	for i := range list {
		out = append(out, *toOpenAPI(&list[i], formats))
	}
	return out
}
