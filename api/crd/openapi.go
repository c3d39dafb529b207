package crd

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/miniapiserver/miniapiserver/api/structural"
	"github.com/miniapiserver/miniapiserver/openapi"
)

type props = apiextensionsv1.JSONSchemaProps

// publishing makes the definitions of a version when it is called, and reads its
// schema for that.
func publishing(d *Definition, v *apiextensionsv1.CustomResourceDefinitionVersion, whole func() (*Definition, error)) func() ([]openapi.Definition, error) {
	return func() ([]openapi.Definition, error) {
		if w, err := whole(); err == nil {
			if _, err := schemaOf(w, v.Name); err == nil {
				all, err := definitionsOf(&d.Spec, d.Status.AcceptedNames, v, written(w, v.Name))
				if err == nil {
					return all, nil
				}
			}
		}
		// One that cannot be used must not take the documents with it that all kinds
		// have in common: it is published as a schema that every object fits.
		return definitionsOf(&d.Spec, d.Status.AcceptedNames, v, anything())
	}
}

// definitionsOf are the schemas of objects of a version, and of lists of them, as
// documents of OpenAPI have them; schema is nil where there is none.
func definitionsOf(spec *apiextensionsv1.CustomResourceDefinitionSpec, names apiextensionsv1.CustomResourceDefinitionNames,
	v *apiextensionsv1.CustomResourceDefinitionVersion, schema *props) ([]openapi.Definition, error) {
	c := openapi.Custom{Plural: names.Plural, ListKind: names.ListKind}
	c.Group, c.Version, c.Kind = spec.Group, v.Name, names.Kind
	for _, f := range v.SelectableFields {
		c.SelectableFields = append(c.SelectableFields, strings.TrimPrefix(f.JSONPath, "."))
	}
	var err error
	if c.V3, err = published(schema, spec.PreserveUnknownFields, false); err != nil {
		return nil, err
	}
	if c.V2, err = published(schema, spec.PreserveUnknownFields, true); err != nil {
		return nil, err
	}
	return c.Definitions()
}

// published is a schema as clients get to see it: with what every object has, and
// in version 2 without what that cannot say. Clients of version 2 take fields
// for all there are, so that a schema which keeps unknown ones has none there. Nor
// has one that is not structural, which is left over from older versions.
func published(s *props, preserve, v2 bool) ([]byte, error) {
	var out *props
	switch {
	case s == nil, v2 && (preserve || keeps(s)), preserve && !structural.IsStructural(s):
		out = &props{Type: "object"}
	default:
		p := publisher{v2: v2}
		out = p.schema(s)
		if p.err != nil {
			return nil, p.err
		}
		out.Properties = p.identified(out.Properties, metav1.TypeMeta{}.SwaggerDoc())
	}
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(out)
	return bytes.TrimSuffix(content.Bytes(), []byte("\n")), err
}

func keeps(s *props) bool { return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields }

// publisher makes schemas for clients. It changes none of what it is given.
type publisher struct {
	v2  bool
	err error
}

// schema publishes what the shape of objects can be read off.
func (p *publisher) schema(s *props) *props {
	out := *s
	p.values(&out)
	if p.v2 {
		simplify(&out)
	} else {
		p.combined(&out)
		sayIntOrString(&out)
	}
	out.Properties = p.each(out.Properties)
	if out.Items != nil && out.Items.Schema != nil {
		out.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: p.schema(out.Items.Schema)}
	}
	if more := out.AdditionalProperties; more != nil && more.Schema != nil {
		out.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: p.schema(more.Schema)}
	}
	if out.XEmbeddedResource && !(p.v2 && keeps(s)) {
		out.Properties = p.identified(out.Properties, map[string]string{
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

func (p *publisher) each(fields map[string]props) map[string]props {
	if len(fields) == 0 {
		return nil
	}
	out := make(map[string]props, len(fields))
	for name, f := range fields {
		out[name] = *p.schema(&f)
	}
	return out
}

// identified adds what tells objects apart, with descriptions of kind and version.
func (p *publisher) identified(fields map[string]props, docs map[string]string) map[string]props {
	if fields == nil {
		fields = map[string]props{}
	}
	for _, name := range []string{"apiVersion", "kind"} {
		fields[name] = props{Type: "string", Description: docs[name]}
	}
	ref := openapi.RefMetaV3
	meta := props{AllOf: []props{{Ref: &ref}}} // nothing may stand beside a reference
	if p.v2 {
		ref = openapi.RefMetaV2
		meta = props{Ref: &ref}
	}
	meta.Description = openapi.MetadataDescription()
	fields["metadata"] = meta
	return fields
}

// combined publishes schemas that restrict values further, which say nothing of
// values that have no name.
func (p *publisher) combined(s *props) {
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
	p.combined(s)
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

// values writes the values in a schema as they are written everywhere. There are
// no defaults in version 2.
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

// value is a value in JSON of one form; nil for null.
func (p *publisher) value(v *apiextensionsv1.JSON) *apiextensionsv1.JSON {
	if v == nil || len(v.Raw) == 0 { // which is how null is read
		return nil
	}
	var is any
	err := utiljson.Unmarshal(v.Raw, &is)
	if err == nil && is == nil {
		return nil
	}
	out := &apiextensionsv1.JSON{}
	if err == nil {
		out.Raw, err = json.Marshal(is)
	}
	if p.err == nil {
		p.err = err
	}
	return out
}

// sayIntOrString says in words of OpenAPI that a value is an integer or a string,
// unless the schema says so itself.
func sayIntOrString(s *props) {
	either := []props{{Type: "integer"}, {Type: "string"}}
	isEither := func(list []props) bool {
		return len(list) == 2 && slices.EqualFunc(list, either, func(a, b props) bool { return onlyType(a) == b.Type })
	}
	switch {
	case !s.XIntOrString, isEither(s.AnyOf), len(s.AllOf) > 0 && isEither(s.AllOf[0].AnyOf):
	case s.AnyOf == nil:
		s.AnyOf = either
	default:
		s.AllOf = slices.Insert(s.AllOf, 0, props{AnyOf: either})
	}
}

// onlyType is the type of a schema that says nothing else.
func onlyType(s props) string {
	is := s.Type
	s.Type = ""
	if data, err := json.Marshal(s); err != nil || string(data) != "{}" {
		return ""
	}
	return is
}

// simplify leaves out what version 2 has no words for, and what keeps kubectl
// from understanding the rest.
func simplify(s *props) {
	s.AllOf, s.AnyOf, s.OneOf, s.Not = nil, nil, nil, nil
	if s.Nullable {
		s.Nullable, s.Type, s.Items, s.Properties = false, "", nil, nil
	}
	if keeps(s) {
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
