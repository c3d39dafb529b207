package structural

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/expression"
)

// Check validates the schema of a version; path is the field path of the schema. The writer decides
// which functions its rules may call.
func Check(s *props, path *field.Path, writer expression.Writer) field.ErrorList {
	return CheckUpdate(s, path, writer, Leniency{}, Release{})
}

// CheckUpdate is Check for the schema of a stored definition, with the rules that it need not satisfy, as in
// a release.
func CheckUpdate(s *props, path *field.Path, writer expression.Writer, lenient Leniency, r Release) field.ErrorList {
	c := &checker{writer: writer, lenient: lenient, release: r}
	in := location{root: true}
	var errs field.ErrorList
	unsupported := Unsupported(s)
	if unsupported == nil {
		errs = checkShape(s, path)
		if len(errs) == 0 {
			errs = checkDefaults(s, path, lenient, r)
		}
		if len(errs) == 0 {
			in.rules = c.rootRuleContext(s, path)
		}
	}
	c.schema(s, path, in)
	errs = append(append(errs, c.errs...), c.ruleErrs...)
	if c.total.sum > totalLimit {
		errs = append(errs, c.total.errors(path)...)
	}
	if len(errs) == 0 {
		err := unsupported
		if err == nil {
			_, err = compile(s)
		}
		if err != nil {
			errs = append(errs, field.Invalid(path, "", err.Error()))
		}
	}
	return errs
}

// HasExpression reports whether a rule of a schema has an expression, for itself or its message.
func HasExpression(s *props, text string) bool {
	return anySubschema(s, func(s *props) bool {
		return slices.ContainsFunc(s.XValidations, func(r apiextensionsv1.ValidationRule) bool {
			return r.Rule == text || r.MessageExpression == text
		})
	})
}

// UsesExtensions reports whether a schema has defaults or x-kubernetes- keywords.
func UsesExtensions(s *props) bool {
	return anySubschema(s, func(s *props) bool {
		return s.XEmbeddedResource || s.XPreserveUnknownFields != nil || s.XIntOrString || len(s.XListMapKeys) > 0 ||
			s.XListType != nil || len(s.XValidations) > 0 || s.Default != nil
	})
}

// HasDefaults reports whether a schema has defaults.
func HasDefaults(s *props) bool {
	return anySubschema(s, func(s *props) bool { return s.Default != nil })
}

// anySubschema reports whether a condition holds for a schema or one inside it.
func anySubschema(s *props, obj func(*props) bool) bool {
	if s == nil {
		return false
	}
	if obj(s) || anySubschema(s.Not, obj) || s.Items != nil && anySubschema(s.Items.Schema, obj) ||
		s.AdditionalProperties != nil && anySubschema(s.AdditionalProperties.Schema, obj) {
		return true
	}
	for _, sub := range s.Properties {
		if anySubschema(&sub, obj) {
			return true
		}
	}
	for _, l := range combinators(s) {
		if slices.ContainsFunc(l.schemas, func(sub props) bool { return anySubschema(&sub, obj) }) {
			return true
		}
	}
	return false
}

// checker checks a schema and all schemas inside it.
type checker struct {
	errs    field.ErrorList
	lenient Leniency
	// writer decides which functions rules may call.
	writer  expression.Writer
	release Release
	// ruleErrs are the errors of expressions, and total is their estimated cost.
	ruleErrs field.ErrorList
	total    totalCost
}

// location describes the position of a schema within the root schema.
type location struct {
	root bool
	// inMetadata: inside apiVersion, kind or metadata. defaultForbidden, if not empty,
	// describes the position in the error for a default, which is forbidden there.
	inMetadata       bool
	defaultForbidden string
	// uncorrelatable is the path of an enclosing schema whose values cannot be matched
	// with their old values; nil if there is none.
	uncorrelatable *field.Path
	// rules is the context of the rules; nil if they are not compiled.
	rules *ruleContext
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

// requireType reports an error if a schema does not have the wanted type.
func (c *checker) requireType(s *props, want string, path *field.Path, why string) {
	switch s.Type {
	case want:
	case "":
		c.require(path.Child("type"), "must be "+want+" "+why)
	default:
		c.invalid(path.Child("type"), s.Type, "must be "+want+" "+why)
	}
}

func (c *checker) schema(s *props, path *field.Path, in location) {
	if s == nil {
		return
	}
	before := len(c.errs)
	c.keywords(s, path, in)
	c.subschemas(s, path, in)
	c.extensions(s, path)
	c.mapList(s, path)
	if !c.lenient.LooseKeys {
		c.listKeys(s, path)
	}
	if len(s.XValidations) == 0 {
		return
	}
	c.ruleTexts(s, path.Child("x-kubernetes-validations"))
	if len(c.errs) == before && in.rules != nil {
		c.compileRules(path.Child("x-kubernetes-validations"), in)
	}
}

// keywords reports unsupported keywords of JSON schema.
func (c *checker) keywords(s *props, path *field.Path, in location) {
	if types := []string{"array", "boolean", "integer", "number", "object", "string"}; s.Type != "" && !slices.Contains(types, s.Type) {
		c.errs = append(c.errs, field.NotSupported(path.Child("type"), s.Type, types))
	}
	if s.Default != nil && in.defaultForbidden != "" {
		c.forbid(path.Child("default"), "must not be set "+in.defaultForbidden)
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
	if in.inMetadata && s.XEmbeddedResource {
		c.forbid(path.Child("x-kubernetes-embedded-resource"), "must not be used inside of resource meta")
	}
	if s.UniqueItems {
		c.forbid(path.Child("uniqueItems"), "uniqueItems cannot be set to true since the runtime complexity becomes quadratic")
	}
}

// subschemas checks the schemas inside s.
func (c *checker) subschemas(s *props, path *field.Path, in location) {
	inner := in
	inner.root, inner.rules = false, nil
	if a := s.AdditionalProperties; a != nil {
		if len(s.Properties) > 0 && (!a.Allows || a.Schema != nil) {
			c.forbid(path.Child("additionalProperties"), "additionalProperties and properties are mutual exclusive")
		}
		at := inner
		if in.inMetadata {
			at.defaultForbidden = "inside additionalProperties applying to object metadata"
		}
		at.rules = in.rules.values(s)
		c.schema(a.Schema, path.Child("additionalProperties"), at)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		sub, at := s.Properties[name], inner
		if s.XMapType != nil && *s.XMapType != "granular" && *s.XMapType != "atomic" && at.uncorrelatable == nil {
			at.uncorrelatable = path
		}
		if (in.root || s.XEmbeddedResource) && isMeta(name) {
			at.inMetadata = true
			if in.root {
				at.defaultForbidden = "in top-level " + name
			}
		}
		at.rules = in.rules.field(s, name)
		c.schema(&sub, path.Child("properties").Key(name), at)
	}
	c.schema(s.Not, path.Child("not"), inner)
	for _, l := range combinators(s) {
		for i := range l.schemas {
			c.schema(&l.schemas[i], path.Child(l.name).Index(i), inner)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Definitions)) {
		sub := s.Definitions[name]
		c.schema(&sub, path.Child("definitions").Key(name), inner)
	}
	if s.Items != nil {
		if listType(s) != "map" && inner.uncorrelatable == nil {
			inner.uncorrelatable = path
		}
		at := inner
		at.rules = in.rules.items(s)
		c.schema(s.Items.Schema, path.Child("items"), at)
		for i := range s.Items.JSONSchemas {
			c.schema(&s.Items.JSONSchemas[i], path.Child("items").Index(i), inner)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Dependencies)) {
		c.schema(s.Dependencies[name].Schema, path.Child("dependencies").Key(name), in.withoutRules())
	}
}

// withoutRules returns the location with rules that are not compiled.
func (in location) withoutRules() location {
	in.root, in.rules = false, nil
	return in
}

func isMeta(name string) bool { return name == "apiVersion" || name == "kind" || name == "metadata" }

type combinator struct {
	name    string
	schemas []props
}

func combinators(s *props) []combinator {
	return []combinator{{"allOf", s.AllOf}, {"oneOf", s.OneOf}, {"anyOf", s.AnyOf}}
}

// extensions checks the x-kubernetes- keywords.
func (c *checker) extensions(s *props, path *field.Path) {
	if p := s.XPreserveUnknownFields; p != nil && !*p {
		c.invalid(path.Child("x-kubernetes-preserve-unknown-fields"), *p, "must be true or undefined")
	}
	if s.XMapType != nil {
		c.requireType(s, "object", path, "if x-kubernetes-map-type is specified")
		if types := []string{"atomic", "granular"}; !slices.Contains(types, *s.XMapType) {
			c.errs = append(c.errs, field.NotSupported(path.Child("x-kubernetes-map-type"), *s.XMapType, types))
		}
	}
	if s.XListType != nil {
		if s.Type != "array" {
			c.requireType(s, "array", path, "if x-kubernetes-list-type is specified")
		} else if !c.lenient.LooseSets {
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

// setItems checks that the items of a set are atomic.
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

// mapList checks a list of type map.
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
		c.invalid(path.Child("items"), internalItems(s.Items), "must only have a single schema if x-kubernetes-list-type is map")
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

// listKeys checks that the items of sets and of lists of type map have distinct keys.
func (c *checker) listKeys(s *props, path *field.Path) {
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
	required := make(map[string]bool, len(item.Required))
	for _, name := range item.Required {
		required[name] = true
	}
	for _, key := range s.XListMapKeys {
		f, ok := item.Properties[key]
		if !ok {
			continue
		}
		if f.Default == nil && !required[key] {
			c.require(at.Child("properties").Key(key).Child("default"),
				"this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property")
		}
		if f.Nullable {
			c.forbid(at.Child("properties").Key(key).Child("nullable"), "this property is in x-kubernetes-list-map-keys, so it cannot be nullable")
		}
	}
}

// completenessDetail returns the detail of the error for a field that only a combinator
// declares.
func completenessDetail(at *field.Path) string { return fmt.Sprintf("because it is defined in %s", at) }

// internalItems converts items to the type that kube-apiserver prints in messages.
func internalItems(items *apiextensionsv1.JSONSchemaPropsOrArray) any {
	var out apiextensions.JSONSchemaPropsOrArray
	if err := apiextensionsv1.Convert_v1_JSONSchemaPropsOrArray_To_apiextensions_JSONSchemaPropsOrArray(items.DeepCopy(),
		&out, nil); err != nil {
		return items
	}
	return &out
}
