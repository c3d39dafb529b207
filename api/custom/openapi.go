package custom

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/miniapiserver/miniapiserver/api/custom/structural"
	"github.com/miniapiserver/miniapiserver/openapi"
)

type props = apiextensionsv1.JSONSchemaProps

// openAPIDefinitions returns a function that reads the schema of a version and builds its
// OpenAPI definitions.
func openAPIDefinitions(d *Definition, v *apiextensionsv1.CustomResourceDefinitionVersion,
	readDefinition func() (*Definition, error)) func() ([]openapi.Definition, error) {
	return func() ([]openapi.Definition, error) {
		if w, err := readDefinition(); err == nil {
			if _, err := effectiveSchema(w, v.Name); err == nil {
				all, err := buildDefinitions(&d.Spec, d.Status.AcceptedNames, v, declaredSchema(w, v.Name))
				if err == nil {
					return all, nil
				}
			}
		}
		// A schema that cannot be used must not break the documents, which all kinds
		// share: the version is published with a schema that permits everything.
		return buildDefinitions(&d.Spec, d.Status.AcceptedNames, v, permissiveSchema())
	}
}

// buildDefinitions returns the OpenAPI definitions of the objects of a version and of
// lists of them. schema is nil if the version has none.
func buildDefinitions(spec *apiextensionsv1.CustomResourceDefinitionSpec, names apiextensionsv1.CustomResourceDefinitionNames,
	v *apiextensionsv1.CustomResourceDefinitionVersion, schema *props) ([]openapi.Definition, error) {
	c := openapi.CustomKind{Plural: names.Plural, ListKind: names.ListKind}
	c.Group, c.Version, c.Kind = spec.Group, v.Name, names.Kind
	for _, f := range v.SelectableFields {
		c.SelectableFields = append(c.SelectableFields, strings.TrimPrefix(f.JSONPath, "."))
	}
	var err error
	if c.V3, err = publishedSchema(schema, spec.PreserveUnknownFields, false); err != nil {
		return nil, err
	}
	if c.V2, err = publishedSchema(schema, spec.PreserveUnknownFields, true); err != nil {
		return nil, err
	}
	return c.Definitions()
}

// publishedSchema returns the JSON of a schema for OpenAPI documents, with apiVersion,
// kind and metadata. OpenAPI v2 lacks some keywords, and its clients take the listed
// fields for complete: a schema that preserves unknown fields is published without
// fields there. So is a schema of an old definition that is not structural, in v2 and v3.
func publishedSchema(s *props, preserve, v2 bool) ([]byte, error) {
	var out *props
	switch {
	case s == nil, v2 && (preserve || preservesUnknown(s)), preserve && !structural.IsStructural(s):
		out = &props{Type: "object"}
	default:
		p := publisher{v2: v2}
		out = p.schema(s)
		if p.err != nil {
			return nil, p.err
		}
		out.Properties = p.addObjectFields(out.Properties, metav1.TypeMeta{}.SwaggerDoc())
	}
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(out)
	return bytes.TrimSuffix(content.Bytes(), []byte("\n")), err
}

func preservesUnknown(s *props) bool {
	return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
}

// publisher builds published schemas. It does not change the given ones.
type publisher struct {
	v2  bool
	err error
}

// schema returns the published form of a structural schema.
func (p *publisher) schema(s *props) *props {
	out := *s
	p.values(&out)
	if p.v2 {
		simplifyForV2(&out)
	} else {
		p.combinators(&out)
		expandIntOrString(&out)
	}
	out.Properties = p.properties(out.Properties)
	if out.Items != nil && out.Items.Schema != nil {
		out.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: p.schema(out.Items.Schema)}
	}
	if more := out.AdditionalProperties; more != nil && more.Schema != nil {
		out.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: p.schema(more.Schema)}
	}
	if out.XEmbeddedResource && !(p.v2 && preservesUnknown(s)) {
		out.Properties = p.addObjectFields(out.Properties, map[string]string{
			"apiVersion": "apiVersion defines the versioned schema of this representation of an object. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
			"kind":       "kind is a string value representing the type of this object. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
		})
		out.Required = slices.Clone(out.Required)
		for _, name := range []string{"kind", "apiVersion"} {
			if !slices.Contains(out.Required, name) {
				out.Required = append(out.Required, name)
			}
		}
	}
	return &out
}

func (p *publisher) properties(fields map[string]props) map[string]props {
	if len(fields) == 0 {
		return nil
	}
	out := make(map[string]props, len(fields))
	for name, f := range fields {
		out[name] = *p.schema(&f)
	}
	return out
}

// addObjectFields adds apiVersion, kind and metadata; docs describes apiVersion and kind.
func (p *publisher) addObjectFields(fields map[string]props, docs map[string]string) map[string]props {
	if fields == nil {
		fields = map[string]props{}
	}
	for _, name := range []string{"apiVersion", "kind"} {
		fields[name] = props{Type: "string", Description: docs[name]}
	}
	ref := openapi.RefMetaV3
	meta := props{AllOf: []props{{Ref: &ref}}} // OpenAPI v3 ignores the siblings of a $ref
	if p.v2 {
		ref = openapi.RefMetaV2
		meta = props{Ref: &ref}
	}
	meta.Description = openapi.MetadataDescription()
	fields["metadata"] = meta
	return fields
}

// combinators publishes allOf, anyOf, oneOf and not, which are published without
// additionalProperties.
func (p *publisher) combinators(s *props) {
	lists := []*[]props{&s.AllOf, &s.AnyOf, &s.OneOf}
	for _, list := range lists {
		*list = slices.Clone(*list)
		for i := range *list {
			p.nested(&(*list)[i])
		}
	}
	if s.Not != nil {
		not := *s.Not
		p.nested(&not)
		s.Not = &not
	}
}

func (p *publisher) nested(s *props) {
	p.values(s)
	p.combinators(s)
	s.AdditionalProperties = nil
	if s.Items != nil && s.Items.Schema != nil {
		items := *s.Items.Schema
		p.nested(&items)
		s.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &items}
	}
	if len(s.Properties) > 0 {
		fields := make(map[string]props, len(s.Properties))
		for name, f := range s.Properties {
			p.nested(&f)
			fields[name] = f
		}
		s.Properties = fields
	}
}

// values normalizes the example, the default and the enum of a schema. OpenAPI v2 has no
// defaults.
func (p *publisher) values(s *props) {
	s.ID, s.Schema = "", ""
	s.Example = p.value(s.Example)
	s.Default = p.value(s.Default)
	if p.v2 {
		s.Default = nil
	}
	s.Enum = slices.Clone(s.Enum)
	for i := range s.Enum {
		if v := p.value(&s.Enum[i]); v != nil {
			s.Enum[i] = *v
		}
	}
}

// value returns normalized JSON; nil for null.
func (p *publisher) value(v *apiextensionsv1.JSON) *apiextensionsv1.JSON {
	if v == nil || len(v.Raw) == 0 { // null decoded decoded to no bytes
		return nil
	}
	var decoded any
	err := utiljson.Unmarshal(v.Raw, &decoded)
	if err == nil && decoded == nil {
		return nil
	}
	out := &apiextensionsv1.JSON{}
	if err == nil {
		out.Raw, err = json.Marshal(decoded)
	}
	if p.err == nil {
		p.err = err
	}
	return out
}

// expandIntOrString adds an anyOf of integer and string to a schema with
// x-kubernetes-int-or-string, unless the schema has it.
func expandIntOrString(s *props) {
	either := []props{{Type: "integer"}, {Type: "string"}}
	isEither := func(list []props) bool {
		return len(list) == 2 && slices.EqualFunc(list, either, func(a, b props) bool { return soleType(a) == b.Type })
	}
	switch {
	case !s.XIntOrString, isEither(s.AnyOf), len(s.AllOf) > 0 && isEither(s.AllOf[0].AnyOf):
	case s.AnyOf == nil:
		s.AnyOf = either
	default:
		s.AllOf = slices.Insert(s.AllOf, 0, props{AnyOf: either})
	}
}

// soleType returns the type of a schema that has no other keyword, else "".
func soleType(s props) string {
	kind := s.Type
	s.Type = ""
	if data, err := json.Marshal(s); err != nil || string(data) != "{}" {
		return ""
	}
	return kind
}

// simplifyForV2 removes keywords that OpenAPI v2 lacks, and keywords that kubectl cannot
// process.
func simplifyForV2(s *props) {
	s.AllOf, s.AnyOf, s.OneOf, s.Not = nil, nil, nil, nil
	if s.Nullable {
		s.Nullable, s.Type, s.Items, s.Properties = false, "", nil, nil
	}
	if preservesUnknown(s) {
		s.Items, s.Properties = nil, nil
		if s.Type == "object" {
			s.Type = ""
		}
	}
	if s.Items == nil && s.Type == "array" {
		s.Type = ""
	}
	s.Required = slices.DeleteFunc(slices.Clone(s.Required), func(name string) bool { return s.Properties[name].Nullable })
	if more := s.AdditionalProperties; more != nil && more.Schema != nil && more.Schema.Nullable {
		s.Required = nil
	}
}
