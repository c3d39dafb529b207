package structural

import (
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// toOpenAPI converts a schema to the form of the library's validator. literal is set to
// validate defaults, as kube-apiserver does: unknown formats stay, and
// x-kubernetes-int-or-string sets no type.
func toOpenAPI(p *props, literal bool) *spec.Schema {
	if p == nil {
		return nil
	}
	s := &spec.Schema{SchemaProps: spec.SchemaProps{
		Nullable: p.Nullable, Format: p.Format, Pattern: p.Pattern,
		Maximum: p.Maximum, ExclusiveMaximum: p.ExclusiveMaximum, Minimum: p.Minimum, ExclusiveMinimum: p.ExclusiveMinimum,
		MaxLength: p.MaxLength, MinLength: p.MinLength, MaxItems: p.MaxItems, MinItems: p.MinItems, UniqueItems: p.UniqueItems,
		MultipleOf: p.MultipleOf, MaxProperties: p.MaxProperties, MinProperties: p.MinProperties, Required: p.Required,
		AllOf: toOpenAPIs(p.AllOf, literal), OneOf: toOpenAPIs(p.OneOf, literal), AnyOf: toOpenAPIs(p.AnyOf, literal), Not: toOpenAPI(p.Not, literal),
	}}
	if p.Type != "" {
		s.Type = spec.StringOrArray{p.Type}
	}
	if p.XIntOrString && !literal {
		s.Type = spec.StringOrArray{"integer", "string"}
	}
	if !literal && !isKnownFormat(s.Type, p.Format) {
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
			s.Properties[name] = *toOpenAPI(&sub, literal)
		}
	}
	if a := p.AdditionalProperties; a != nil {
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: a.Allows, Schema: toOpenAPI(a.Schema, literal)}
	}
	if p.Items != nil {
		s.Items = &spec.SchemaOrArray{Schema: toOpenAPI(p.Items.Schema, literal)}
	}
	return s
}

func toOpenAPIs(list []props, literal bool) []spec.Schema {
	var out []spec.Schema
	for i := range list {
		out = append(out, *toOpenAPI(&list[i], literal))
	}
	return out
}

// isKnownFormat reports whether values of a type are validated by a format. Other formats
// are documentation.
func isKnownFormat(kind spec.StringOrArray, format string) bool {
	name := ""
	if len(kind) == 1 {
		name = kind[0]
	}
	switch name {
	case "", "string":
		return slices.Contains(stringFormats(), strings.ReplaceAll(format, "-", ""))
	case "integer":
		return format == "int32" || format == "int64"
	case "number":
		return format == "float" || format == "double"
	}
	return false
}

// UnknownFormats returns the formats in a schema that validation ignores, without
// duplicates.
func UnknownFormats(p *props) []string {
	if p == nil {
		return nil
	}
	var out []string
	if p.Format != "" && !isKnownFormat(spec.StringOrArray{p.Type}, p.Format) {
		out = append(out, p.Format)
	}
	for _, part := range partsOf(p) {
		out = append(out, UnknownFormats(part)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// SetsOfContainers returns the types of the items, object or array, that lists of a schema have with
// the list type set, without duplicates.
func SetsOfContainers(p *props) []string {
	if p == nil {
		return nil
	}
	var out []string
	if p.XListType != nil && *p.XListType == "set" && p.Items != nil && p.Items.Schema != nil {
		if t := p.Items.Schema.Type; t == "object" || t == "array" {
			out = append(out, t)
		}
	}
	for _, part := range partsOf(p) {
		out = append(out, SetsOfContainers(part)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// stringFormats returns the formats of strings, without dashes.
func stringFormats() []string {
	return []string{"bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5",
		"isbn", "isbn10", "isbn13", "creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "password", "date", "duration", "datetime",
		"k8sshortname", "k8slongname"}
}
