package structural

import (
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// openAPI is a schema in the form that the validator reads, without what it does
// not look at. That of a default is taken by the letter: it may have formats that
// are not known, and a number or text has no type there.
func openAPI(p *props, literal bool) *spec.Schema {
	if p == nil {
		return nil
	}
	s := &spec.Schema{SchemaProps: spec.SchemaProps{
		Nullable: p.Nullable, Format: p.Format, Pattern: p.Pattern,
		Maximum: p.Maximum, ExclusiveMaximum: p.ExclusiveMaximum, Minimum: p.Minimum, ExclusiveMinimum: p.ExclusiveMinimum,
		MaxLength: p.MaxLength, MinLength: p.MinLength, MaxItems: p.MaxItems, MinItems: p.MinItems, UniqueItems: p.UniqueItems,
		MultipleOf: p.MultipleOf, MaxProperties: p.MaxProperties, MinProperties: p.MinProperties, Required: p.Required,
		AllOf: openAPIs(p.AllOf, literal), OneOf: openAPIs(p.OneOf, literal), AnyOf: openAPIs(p.AnyOf, literal), Not: openAPI(p.Not, literal),
	}}
	if p.Type != "" {
		s.Type = spec.StringOrArray{p.Type}
	}
	if p.XIntOrString && !literal {
		s.Type = spec.StringOrArray{"integer", "string"}
	}
	if !literal && !known(s.Type, p.Format) {
		s.Format = ""
	}
	for _, e := range p.Enum {
		if v, err := decode(e.Raw); err == nil { // it was read before
			s.Enum = append(s.Enum, v)
		}
	}
	if len(p.Properties) > 0 {
		s.Properties = make(map[string]spec.Schema, len(p.Properties))
		for name, sub := range p.Properties {
			s.Properties[name] = *openAPI(&sub, literal)
		}
	}
	if a := p.AdditionalProperties; a != nil {
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: a.Allows, Schema: openAPI(a.Schema, literal)}
	}
	if p.Items != nil {
		s.Items = &spec.SchemaOrArray{Schema: openAPI(p.Items.Schema, literal)}
	}
	return s
}

func openAPIs(list []props, literal bool) []spec.Schema {
	var out []spec.Schema
	for i := range list {
		out = append(out, *openAPI(&list[i], literal))
	}
	return out
}

// known tells of formats by which values of a type are judged. Others are for
// people.
func known(kind spec.StringOrArray, format string) bool {
	is := ""
	if len(kind) == 1 {
		is = kind[0]
	}
	switch is {
	case "", "string":
		return slices.Contains(textFormats(), strings.ReplaceAll(format, "-", ""))
	case "integer":
		return format == "int32" || format == "int64"
	case "number":
		return format == "float" || format == "double"
	}
	return false
}

// UnknownFormats are the formats in a schema that no value is judged by, each once.
func UnknownFormats(p *props) []string {
	if p == nil {
		return nil
	}
	var out []string
	if p.Format != "" && !known(spec.StringOrArray{p.Type}, p.Format) {
		out = append(out, p.Format)
	}
	for _, part := range partsOf(p) {
		out = append(out, UnknownFormats(part)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// textFormats are those of texts, without dashes.
func textFormats() []string {
	return []string{"bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5",
		"isbn", "isbn10", "isbn13", "creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "password", "date", "duration", "datetime",
		"k8sshortname", "k8slongname"}
}
