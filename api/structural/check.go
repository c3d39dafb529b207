package structural

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Check tells what is wrong with the schema of a version, which stands at path.
func Check(s *props, path *field.Path) field.ErrorList {
	c := &checker{}
	in := place{root: true}
	var errs field.ErrorList
	if Unsupported(s) == nil {
		errs = checkShape(s, path)
		if len(errs) == 0 {
			errs = checkDefaults(s, path)
		}
		if len(errs) == 0 {
			in.rules = c.ruled(s, path)
		}
	}
	c.schema(s, path, in)
	errs = append(append(errs, c.errs...), c.ruleErrs...)
	if c.total.sum > totalLimit {
		errs = append(errs, c.total.errors(path)...)
	}
	if len(errs) == 0 {
		if _, err := compile(s); err != nil {
			errs = append(errs, field.Invalid(path, "", err.Error()))
		}
	}
	return errs
}

// Extended tells of a schema that has what Kubernetes adds to JSON schema, or defaults:
// all that goes by the shape of objects.
func Extended(s *props) bool {
	return anywhere(s, func(s *props) bool {
		return s.XEmbeddedResource || s.XPreserveUnknownFields != nil || s.XIntOrString || len(s.XListMapKeys) > 0 ||
			s.XListType != nil || len(s.XValidations) > 0 || s.Default != nil
	})
}

// HasDefaults tells of a schema with defaults.
func HasDefaults(s *props) bool {
	return anywhere(s, func(s *props) bool { return s.Default != nil })
}

// anywhere tells whether something holds for a schema or one inside.
func anywhere(s *props, is func(*props) bool) bool {
	if s == nil {
		return false
	}
	if is(s) || anywhere(s.Not, is) || s.Items != nil && anywhere(s.Items.Schema, is) ||
		s.AdditionalProperties != nil && anywhere(s.AdditionalProperties.Schema, is) {
		return true
	}
	for _, sub := range s.Properties {
		if anywhere(&sub, is) {
			return true
		}
	}
	for _, l := range combined(s) {
		if slices.ContainsFunc(l.schemas, func(sub props) bool { return anywhere(&sub, is) }) {
			return true
		}
	}
	return false
}

// checker goes over all schemas that there are, for what none may say.
type checker struct {
	errs field.ErrorList
	// ruleErrs are about what expressions come to, and total is what they cost.
	ruleErrs field.ErrorList
	total    totalCost
}

// place is where in an object a schema is for.
type place struct {
	root bool
	// meta: inside of what every object has. noDefault tells, when not empty, where
	// that is that there may be no defaults.
	meta      bool
	noDefault string
	// apart is a schema around whose parts cannot be found again after a change;
	// nil when there is none.
	apart *field.Path
	// rules is what rules may refer to; nil where they are not compiled.
	rules *ruled
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
	before := len(c.errs)
	c.words(s, path, in)
	c.below(s, path, in)
	c.extensions(s, path)
	c.mapList(s, path)
	c.keys(s, path)
	if len(s.XValidations) == 0 {
		return
	}
	c.ruleTexts(s, path.Child("x-kubernetes-validations"))
	if len(c.errs) == before && in.rules != nil {
		c.compileRules(s, path.Child("x-kubernetes-validations"), in)
	}
}

// words checks for keywords of JSON schema that are not supported.
func (c *checker) words(s *props, path *field.Path, in place) {
	if types := []string{"array", "boolean", "integer", "number", "object", "string"}; s.Type != "" && !slices.Contains(types, s.Type) {
		c.errs = append(c.errs, field.NotSupported(path.Child("type"), s.Type, types))
	}
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
	if s.Type == "null" {
		c.forbid(path.Child("type"), "type cannot be set to null, use nullable as an alternative")
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
	inner.root, inner.rules = false, nil
	if a := s.AdditionalProperties; a != nil {
		if len(s.Properties) > 0 && (!a.Allows || a.Schema != nil) {
			c.forbid(path.Child("additionalProperties"), "additionalProperties and properties are mutual exclusive")
		}
		at := inner
		if in.meta {
			at.noDefault = "inside additionalProperties applying to object metadata"
		}
		at.rules = in.rules.values(s)
		c.schema(a.Schema, path.Child("additionalProperties"), at)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		sub, at := s.Properties[name], inner
		if s.XMapType != nil && *s.XMapType != "granular" && *s.XMapType != "atomic" && at.apart == nil {
			at.apart = path
		}
		if (in.root || s.XEmbeddedResource) && isMeta(name) {
			at.meta = true
			if in.root {
				at.noDefault = "in top-level " + name
			}
		}
		at.rules = in.rules.field(s, name)
		c.schema(&sub, path.Child("properties").Key(name), at)
	}
	c.schema(s.Not, path.Child("not"), inner)
	for _, l := range combined(s) {
		for i := range l.schemas {
			c.schema(&l.schemas[i], path.Child(l.name).Index(i), inner)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Definitions)) {
		sub := s.Definitions[name]
		c.schema(&sub, path.Child("definitions").Key(name), inner)
	}
	if s.Items != nil {
		if listType(s) != "map" && inner.apart == nil {
			inner.apart = path
		}
		at := inner
		at.rules = in.rules.items(s)
		c.schema(s.Items.Schema, path.Child("items"), at)
		for i := range s.Items.JSONSchemas {
			c.schema(&s.Items.JSONSchemas[i], path.Child("items").Index(i), inner)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Dependencies)) {
		c.schema(s.Dependencies[name].Schema, path.Child("dependencies").Key(name), in.without())
	}
}

// without is a place in which rules are not compiled.
func (in place) without() place {
	in.root, in.rules = false, nil
	return in
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
		if s.Type != "array" {
			c.typed(s, "array", path, "if x-kubernetes-list-type is specified")
		} else {
			c.setItems(s, path)
		}
		if types := []string{"atomic", "set", "map"}; !slices.Contains(types, *s.XListType) {
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

// setItems checks that items of a set are owned as a whole.
func (c *checker) setItems(s *props, path *field.Path) {
	if listType(s) != "set" || s.Items == nil || s.Items.Schema == nil {
		return
	}
	const why = "must be atomic as item of a list with x-kubernetes-list-type=set"
	item, at := s.Items.Schema, path.Child("items")
	// kube-apiserver shows the type of the list in both cases.
	switch {
	case item.Type == "object" && (item.XMapType == nil || *item.XMapType != "atomic"):
		c.invalid(at.Child("x-kubernetes-map-type"), item.XListType, why)
	case item.Type == "array" && item.XListType != nil && *item.XListType != "atomic":
		c.invalid(at.Child("x-kubernetes-list-type"), item.XListType, why)
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

// because is how completeness tells which schema asks for another.
func because(at *field.Path) string { return fmt.Sprintf("because it is defined in %s", at) }
