package structural

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A schema is structural if its outer part alone describes the shape of objects, and
// allOf, anyOf, oneOf and not only restrict values.

// level distinguishes the root schema, item schemas and field schemas.
type level int

const (
	levelRoot level = iota
	levelItem
	levelField
)

type shaper struct{ checker }

// IsStructural reports whether a schema is structural. Only schemas of old definitions are
// not.
func IsStructural(p *props) bool { return Unsupported(p) == nil && len(checkShape(p, nil)) == 0 }

// checkShape returns the reasons why a schema is not structural, sorted by their text.
func checkShape(s *props, path *field.Path) field.ErrorList {
	c := &shaper{}
	c.structure(s, levelRoot, path)
	c.complete(s, s, path, path)
	slices.SortStableFunc(c.errs, func(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) })
	return c.errs
}

// structure checks the outer part.
func (c *shaper) structure(s *props, l level, path *field.Path) {
	if s == nil {
		return
	}
	c.children(s, path)
	intOrString := s.XIntOrString
	preserve := s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
	if intOrString && preserve {
		c.invalid(path.Child("x-kubernetes-preserve-unknown-fields"), preserve, "must be false if x-kubernetes-int-or-string is true")
	}
	if intOrString && s.XEmbeddedResource {
		c.invalid(path.Child("x-kubernetes-embedded-resource"), true, "must be false if x-kubernetes-int-or-string is true")
	}
	c.values(s, isIntegerOrString(s.AnyOf), len(s.AllOf) > 0 && isIntegerOrString(s.AllOf[0].AnyOf), l, path)
	c.rootType(s, l, preserve, path)
	if s.XEmbeddedResource && s.AdditionalProperties != nil {
		c.forbid(path.Child("additionalProperties"), "must not be used if x-kubernetes-embedded-resource is set")
	}
	if l == levelRoot || s.XEmbeddedResource {
		c.metadata(s, l, path)
	}
	if s.XEmbeddedResource && !preserve && len(s.Properties) == 0 {
		c.require(path.Child("properties"), "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields")
	}
}

func (c *shaper) children(s *props, path *field.Path) {
	if s.Type == "array" && (s.Items == nil || s.Items.Schema == nil) {
		c.require(path.Child("items"), "must be specified")
	}
	if s.Items != nil {
		c.structure(s.Items.Schema, levelItem, path.Child("items"))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		sub := s.Properties[name]
		c.structure(&sub, levelField, path.Child("properties").Key(name))
	}
	if s.AdditionalProperties != nil {
		c.structure(s.AdditionalProperties.Schema, levelField, path.Child("additionalProperties"))
	}
}

func (c *shaper) rootType(s *props, l level, preserve bool, path *field.Path) {
	switch {
	case s.XEmbeddedResource && s.Type != "object":
		c.requireType(s, "object", path, "if x-kubernetes-embedded-resource is true")
	case s.Type == "" && !s.XIntOrString && !preserve:
		c.require(path.Child("type"), map[level]string{
			levelRoot:  "must not be empty at the root",
			levelItem:  "must not be empty for specified array items",
			levelField: "must not be empty for specified object fields",
		}[l])
	}
	if l == levelRoot && s.Type != "" && s.Type != "object" {
		c.invalid(path.Child("type"), s.Type, "must be object at the root")
	}
	if l == levelRoot && s.AdditionalProperties != nil {
		c.forbid(path.Child("additionalProperties"), "must not be used at the root")
	}
}

// metadata checks that the schema restricts nothing in apiVersion, kind and metadata but
// names.
func (c *shaper) metadata(s *props, l level, path *field.Path) {
	for _, name := range []string{"kind", "apiVersion"} {
		if f, ok := s.Properties[name]; ok && f.Type != "string" {
			c.invalid(path.Child("properties").Key(name).Child("type"), f.Type, "must be string")
		}
	}
	meta, ok := s.Properties["metadata"]
	if !ok {
		return
	}
	at := path.Child("properties").Key("metadata")
	if meta.Type != "object" {
		c.invalid(at.Child("type"), meta.Type, "must be object")
	}
	if l != levelRoot {
		return
	}
	rest := *meta.DeepCopy()
	rest.Type, rest.Default = "", nil
	delete(rest.Properties, "name")
	delete(rest.Properties, "generateName")
	if len(rest.Properties) == 0 {
		rest.Properties = nil
	}
	if !isEmptySchema(rest) {
		c.forbid(at, "must not specify anything other than name and generateName, but metadata is implicitly specified")
	}
}

// values checks allOf, anyOf, oneOf and not. It skips the anyOf that declares an integer
// or a string, as in kube-apiserver also without x-kubernetes-int-or-string.
func (c *shaper) values(s *props, skipAnyOf, skipFirst bool, l level, path *field.Path) {
	if !skipAnyOf {
		for i := range s.AnyOf {
			c.nested(&s.AnyOf[i], false, l, path.Child("anyOf").Index(i))
		}
	}
	for i := range s.AllOf {
		c.nested(&s.AllOf[i], skipFirst && i == 0, l, path.Child("allOf").Index(i))
	}
	for i := range s.OneOf {
		c.nested(&s.OneOf[i], false, l, path.Child("oneOf").Index(i))
	}
	if s.Not != nil {
		c.nested(s.Not, false, l, path.Child("not"))
	}
	if s.Pattern != "" {
		if _, err := regexp.Compile(s.Pattern); err != nil {
			c.invalid(path.Child("pattern"), s.Pattern, fmt.Sprintf("must be a valid regular expression, but isn't: %v", err))
		}
	}
}

func (c *shaper) nested(s *props, skipAnyOf bool, l level, path *field.Path) {
	if s == nil {
		return
	}
	c.values(s, skipAnyOf, false, l, path)
	if s.Items != nil {
		c.nested(s.Items.Schema, false, levelItem, path.Child("items"))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		sub := s.Properties[name]
		c.nested(&sub, false, levelField, path.Child("properties").Key(name))
	}
	for _, w := range []struct {
		name, must string
		used       bool
	}{
		{"type", "empty", s.Type != ""},
		{"title", "empty", s.Title != ""},
		{"description", "empty", s.Description != ""},
		{"default", "undefined", s.Default != nil},
		{"additionalProperties", "undefined", s.AdditionalProperties != nil &&
			(s.AdditionalProperties.Allows || s.AdditionalProperties.Schema != nil)},
		{"nullable", "false", s.Nullable},
		{"x-kubernetes-preserve-unknown-fields", "false", s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields},
		{"x-kubernetes-embedded-resource", "false", s.XEmbeddedResource},
		{"x-kubernetes-int-or-string", "false", s.XIntOrString},
		{"x-kubernetes-list-map-keys", "empty", len(s.XListMapKeys) > 0},
		{"x-kubernetes-list-type", "undefined", s.XListType != nil},
		{"x-kubernetes-map-type", "undefined", s.XMapType != nil},
		{"x-kubernetes-validations", "empty", len(s.XValidations) > 0},
	} {
		if w.used {
			c.forbid(path.Child(w.name), "must be "+w.must+" to be structural")
		}
	}
	if _, ok := s.Properties["metadata"]; ok {
		c.forbid(path.Child("properties").Key("metadata"), "must not be specified in a nested context")
	}
}

// isIntegerOrString reports whether list is the anyOf that may accompany
// x-kubernetes-int-or-string.
func isIntegerOrString(list []props) bool {
	return len(list) == 2 && hasOnlyType(list[0], "integer") && hasOnlyType(list[1], "string")
}

// hasOnlyType reports whether s declares a type and nothing else. additionalProperties: false declares
// nothing, but some empty lists and maps do, as in kube-apiserver.
func hasOnlyType(s props, name string) bool {
	if s.Type != name || s.Required != nil || s.Properties != nil || s.XListMapKeys != nil || s.XValidations != nil {
		return false
	}
	s.Type = ""
	if a := s.AdditionalProperties; a != nil && !a.Allows && a.Schema == nil {
		s.AdditionalProperties = nil
	}
	return isEmptySchema(s)
}

// complete checks that the outer part declares every field that a combinator of the root
// restricts. Like kube-apiserver, it does not check the combinators of nested schemas.
func (c *shaper) complete(v, s *props, sPath, vPath *field.Path) {
	if v.Not != nil {
		c.completeNested(v.Not, s, sPath, vPath.Child("not"))
	}
	for _, l := range combinators(v) {
		for i := range l.schemas {
			c.completeNested(&l.schemas[i], s, sPath, vPath.Child(l.name).Index(i))
		}
	}
}

func (c *shaper) completeNested(v, s *props, sPath, vPath *field.Path) {
	if v == nil {
		return
	}
	if s == nil {
		c.require(sPath, completenessDetail(vPath))
		return
	}
	c.complete(v, s, sPath, vPath)
	if v.Items != nil {
		var items *props
		if s.Items != nil {
			items = s.Items.Schema
		}
		c.completeNested(v.Items.Schema, items, sPath.Child("items"), vPath.Child("items"))
	}
	for _, name := range slices.Sorted(maps.Keys(v.Properties)) {
		sub := v.Properties[name]
		at := sPath.Child("properties").Key(name)
		if outer, ok := s.Properties[name]; ok {
			c.completeNested(&sub, &outer, at, vPath.Child("properties").Key(name))
		} else {
			c.require(at, completenessDetail(vPath.Child("properties").Key(name)))
		}
	}
}

// isEmptySchema reports whether a schema has no keyword.
func isEmptySchema(s props) bool {
	return equality.Semantic.DeepEqual(s, props{})
}
