package structural

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type props = apiextensionsv1.JSONSchemaProps

// Check tells what is wrong with the schema of a version, which stands at path.
func Check(s *props, path *field.Path) field.ErrorList {
	c := &checker{}
	c.schema(s, path, place{root: true})
	shape := &shaper{}
	shape.structure(s, levelRoot, path)
	shape.complete(s, s, path, path, false)
	slices.SortStableFunc(shape.errs, func(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) })
	errs := append(c.errs, shape.errs...)
	if len(shape.errs) > 0 {
		return errs
	}
	return append(errs, checkDefaults(s, path, true)...)
}

// checker goes over all schemas that there are, for what none may say.
type checker struct{ errs field.ErrorList }

// place is where in an object a schema is for.
type place struct {
	root bool
	// meta: inside of what every object has. noDefault tells, when not empty, where
	// that is that there may be no defaults.
	meta      bool
	noDefault string
}

func (c *checker) forbid(at *field.Path, why string) {
	c.errs = append(c.errs, field.Forbidden(at, why))
}
func (c *checker) invalid(at *field.Path, value any, why string) {
	c.errs = append(c.errs, field.Invalid(at, value, why))
}
func (c *checker) require(at *field.Path, why string) {
	c.errs = append(c.errs, field.Required(at, why))
}

// typed asks for a type, and says why.
func (c *checker) typed(s *props, want string, path *field.Path, why string) {
	switch s.Type {
	case want:
	case "":
		c.require(path.Child("type"), "must be "+want+" "+why)
	default:
		c.invalid(path.Child("type"), s.Type, "must be "+want+" "+why)
	}
}

func (c *checker) schema(s *props, path *field.Path, in place) {
	if s == nil {
		return
	}
	c.words(s, path, in)
	c.below(s, path, in)
	c.extensions(s, path)
	c.mapList(s, path)
	c.keys(s, path)
	if len(s.XValidations) > 0 {
		// Who installs rules counts on them: better no kind than one without.
		c.forbid(path.Child("x-kubernetes-validations"), "this server does not evaluate validation rules of custom resources yet")
	}
}

// words checks for keywords of JSON schema that are not supported.
func (c *checker) words(s *props, path *field.Path, in place) {
	if s.Default != nil && in.noDefault != "" {
		c.forbid(path.Child("default"), "must not be set "+in.noDefault)
	}
	for _, w := range []struct {
		name string
		used bool
	}{
		{"id", s.ID != ""},
		{"additionalItems", s.AdditionalItems != nil},
		{"patternProperties", len(s.PatternProperties) > 0},
		{"definitions", len(s.Definitions) > 0},
		{"dependencies", s.Dependencies != nil},
		{"$ref", s.Ref != nil},
	} {
		if w.used {
			c.forbid(path.Child(w.name), w.name+" is not supported")
		}
	}
	switch types := []string{"array", "boolean", "integer", "number", "object", "string"}; {
	case s.Type == "null":
		c.forbid(path.Child("type"), "type cannot be set to null, use nullable as an alternative")
	case s.Type != "" && !slices.Contains(types, s.Type):
		c.errs = append(c.errs, field.NotSupported(path.Child("type"), s.Type, types))
	}
	if s.Items != nil && len(s.Items.JSONSchemas) > 0 {
		c.forbid(path.Child("items"), "items must be a schema object and not an array")
	}
	if in.meta && s.XEmbeddedResource {
		c.forbid(path.Child("x-kubernetes-embedded-resource"), "must not be used inside of resource meta")
	}
	if s.UniqueItems {
		c.forbid(path.Child("uniqueItems"), "uniqueItems cannot be set to true since the runtime complexity becomes quadratic")
	}
}

// below checks the schemas inside of one.
func (c *checker) below(s *props, path *field.Path, in place) {
	inner := in
	inner.root = false
	if a := s.AdditionalProperties; a != nil {
		if len(s.Properties) > 0 && (!a.Allows || a.Schema != nil) {
			c.forbid(path.Child("additionalProperties"), "additionalProperties and properties are mutual exclusive")
		}
		c.schema(a.Schema, path.Child("additionalProperties"), inner)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		sub, at := s.Properties[name], inner
		if (in.root || s.XEmbeddedResource) && isMeta(name) {
			at.meta = true
			if in.root {
				at.noDefault = "in top-level " + name
			}
		}
		c.schema(&sub, path.Child("properties").Key(name), at)
	}
	c.schema(s.Not, path.Child("not"), inner)
	for _, l := range combined(s) {
		for i := range l.schemas {
			c.schema(&l.schemas[i], path.Child(l.name).Index(i), inner)
		}
	}
	if s.Items != nil {
		c.schema(s.Items.Schema, path.Child("items"), inner)
		for i := range s.Items.JSONSchemas {
			c.schema(&s.Items.JSONSchemas[i], path.Child("items").Index(i), inner)
		}
	}
}

func isMeta(name string) bool { return name == "apiVersion" || name == "kind" || name == "metadata" }

type combination struct {
	name    string
	schemas []props
}

func combined(s *props) []combination {
	return []combination{{"allOf", s.AllOf}, {"oneOf", s.OneOf}, {"anyOf", s.AnyOf}}
}

// extensions checks what Kubernetes adds to JSON schema.
func (c *checker) extensions(s *props, path *field.Path) {
	if p := s.XPreserveUnknownFields; p != nil && !*p {
		c.invalid(path.Child("x-kubernetes-preserve-unknown-fields"), *p, "must be true or undefined")
	}
	if s.XMapType != nil {
		c.typed(s, "object", path, "if x-kubernetes-map-type is specified")
		if types := []string{"atomic", "granular"}; !slices.Contains(types, *s.XMapType) {
			c.errs = append(c.errs, field.NotSupported(path.Child("x-kubernetes-map-type"), *s.XMapType, types))
		}
	}
	if s.XListType != nil {
		types := []string{"atomic", "set", "map"}
		if s.Type != "array" {
			c.typed(s, "array", path, "if x-kubernetes-list-type is specified")
		} else if !slices.Contains(types, *s.XListType) {
			c.errs = append(c.errs, field.NotSupported(path.Child("x-kubernetes-list-type"), *s.XListType, types))
		}
	}
	if len(s.XListMapKeys) > 0 {
		const why = "must be map if x-kubernetes-list-map-keys is non-empty"
		switch at := path.Child("x-kubernetes-list-type"); {
		case s.XListType == nil:
			c.require(at, why)
		case *s.XListType != "map":
			c.invalid(at, *s.XListType, why)
		}
	}
}

func listType(s *props) string {
	if s.XListType == nil {
		return ""
	}
	return *s.XListType
}

// mapList checks a list whose items have keys.
func (c *checker) mapList(s *props, path *field.Path) {
	if listType(s) != "map" {
		return
	}
	keys := path.Child("x-kubernetes-list-map-keys")
	if len(s.XListMapKeys) == 0 {
		c.require(keys, "must not be empty if x-kubernetes-list-type is map")
	}
	switch {
	case s.Items == nil:
		c.require(path.Child("items"), "must have a schema if x-kubernetes-list-type is map")
		return
	case s.Items.Schema == nil:
		c.invalid(path.Child("items"), s.Items, "must only have a single schema if x-kubernetes-list-type is map")
		return
	case s.Items.Schema.Type != "object":
		c.invalid(path.Child("items").Child("type"), s.Items.Schema.Type, "must be object if parent array's x-kubernetes-list-type is map")
		return
	}
	seen := map[string]bool{}
	for _, key := range s.XListMapKeys {
		f, ok := s.Items.Schema.Properties[key]
		switch {
		case !ok:
			c.invalid(keys, s.XListMapKeys, "entries must all be names of item properties")
		case f.Type == "array" || f.Type == "object":
			c.invalid(path.Child("items").Child("properties").Key(key).Child("type"), s.Items.Schema.Type,
				"must be a scalar type if parent array's x-kubernetes-list-type is map")
		}
		if seen[key] {
			c.invalid(keys, s.XListMapKeys, "must not contain duplicate entries")
		}
		seen[key] = true
	}
}

// keys checks that items can be told apart.
func (c *checker) keys(s *props, path *field.Path) {
	if s.Items == nil || s.Items.Schema == nil || listType(s) != "map" && listType(s) != "set" {
		return
	}
	item, at := s.Items.Schema, path.Child("items")
	if item.Nullable {
		c.forbid(at.Child("nullable"), "cannot be nullable when x-kubernetes-list-type is "+listType(s))
	}
	if listType(s) == "set" {
		return
	}
	for _, key := range s.XListMapKeys {
		f, ok := item.Properties[key]
		if !ok {
			continue
		}
		if f.Default == nil && !slices.Contains(item.Required, key) {
			c.require(at.Child("properties").Key(key).Child("default"),
				"this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property")
		}
		if f.Nullable {
			c.forbid(at.Child("properties").Key(key).Child("nullable"), "this property is in x-kubernetes-list-map-keys, so it cannot be nullable")
		}
	}
}

// checkDefaults checks that defaults are values that the schema has.
func checkDefaults(s *props, path *field.Path, root bool) field.ErrorList {
	if s == nil {
		return nil
	}
	errs := checkDefault(s, path)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		sub := s.Properties[name]
		if root && isMeta(name) {
			continue // there are none
		}
		errs = append(errs, checkDefaults(&sub, path.Child("properties").Key(name), false)...)
	}
	if s.Items != nil {
		errs = append(errs, checkDefaults(s.Items.Schema, path.Child("items"), false)...)
	}
	if s.AdditionalProperties != nil {
		errs = append(errs, checkDefaults(s.AdditionalProperties.Schema, path.Child("additionalProperties"), false)...)
	}
	return errs
}

func checkDefault(s *props, path *field.Path) field.ErrorList {
	if s.Default == nil {
		return nil
	}
	at := path.Child("default")
	compiled, err := New(s)
	if err != nil {
		return field.ErrorList{field.Invalid(at, string(s.Default.Raw), err.Error())}
	}
	value := compiled.root.value
	if value == nil && !s.Nullable {
		return nil // counts as none
	}
	p := pruner{}
	p.value(cloneValue(value), compiled.root, "")
	if len(p.dropped) > 0 {
		return field.ErrorList{field.Invalid(at, value, "must not have unknown fields")}
	}
	filled := cloneValue(value)
	fill(filled, compiled.root)
	return compiled.Validate(at, filled)
}

// because is how completeness tells which schema asks for another.
func because(at *field.Path) string { return fmt.Sprintf("because it is defined in %s", at) }
