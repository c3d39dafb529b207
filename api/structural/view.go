package structural

import "k8s.io/apiserver/pkg/cel/common"

// view is a node as the libraries of the expression language want to see schemas.
// What combines schemas is none of theirs.
type view struct{ *node }

var _ common.Schema = view{}

// viewOf is nil where there is no node: an interface must not hold one that is.
func viewOf(n *node) common.Schema {
	if n == nil {
		return nil
	}
	return view{n}
}

// Type implements common.Schema, as do all that follow.
func (v view) Type() string { return v.kind }

// Format is the format of a text or number.
func (v view) Format() string { return v.format }

// Items is for each item of a list.
func (v view) Items() common.Schema { return viewOf(v.items) }

// Properties are the fields by their names. The map is kept.
func (v view) Properties() map[string]common.Schema {
	if v.fields == nil {
		return nil
	}
	v.viewed.Do(func() {
		views := make(map[string]common.Schema, len(v.fields))
		for name, f := range v.fields {
			views[name] = view{f}
		}
		v.views = views
	})
	return v.views
}

// AdditionalProperties is for what has no name in Properties.
func (v view) AdditionalProperties() common.SchemaOrBool {
	if v.values == nil && !v.any {
		return nil
	}
	return others(v)
}

// others is what is said of fields that are not named.
type others struct{ *node }

// Schema implements common.SchemaOrBool.
func (o others) Schema() common.Schema { return viewOf(o.values) }

// Allows tells that there may be any.
func (o others) Allows() bool { return true }

// Default is a value for where there is none.
func (v view) Default() any { return v.value }

// Pattern and what follows it are bounds of values.
func (v view) Pattern() string { return "" }

// Minimum is not looked at.
func (v view) Minimum() *float64 { return nil }

// IsExclusiveMinimum is not looked at.
func (v view) IsExclusiveMinimum() bool { return false }

// Maximum is not looked at.
func (v view) Maximum() *float64 { return nil }

// IsExclusiveMaximum is not looked at.
func (v view) IsExclusiveMaximum() bool { return false }

// MultipleOf is not looked at.
func (v view) MultipleOf() *float64 { return nil }

// MinItems is not looked at.
func (v view) MinItems() *int64 { return nil }

// MaxItems bounds a list.
func (v view) MaxItems() *int64 { return v.maxItems }

// MinLength is not looked at.
func (v view) MinLength() *int64 { return nil }

// MaxLength bounds a text.
func (v view) MaxLength() *int64 { return v.maxLength }

// MinProperties is not looked at.
func (v view) MinProperties() *int64 { return nil }

// MaxProperties bounds a map.
func (v view) MaxProperties() *int64 { return v.maxProperties }

// Required are the fields that must be there.
func (v view) Required() []string { return v.required }

// Enum are the values that there are.
func (v view) Enum() []any { return v.enum }

// Nullable tells that a value may be null.
func (v view) Nullable() bool { return v.nullable }

// UniqueItems is what no schema may ask for.
func (v view) UniqueItems() bool { return false }

// AllOf and what follows it combine schemas.
func (v view) AllOf() []common.Schema { return nil }

// OneOf is not looked at.
func (v view) OneOf() []common.Schema { return nil }

// AnyOf is not looked at.
func (v view) AnyOf() []common.Schema { return nil }

// Not is not looked at.
func (v view) Not() common.Schema { return nil }

// IsXIntOrString tells of a value that is a number or a text.
func (v view) IsXIntOrString() bool { return v.intOrString }

// IsXEmbeddedResource tells of a value that is an object with kind and metadata.
func (v view) IsXEmbeddedResource() bool { return v.embedded }

// IsXPreserveUnknownFields tells that there may be fields that are not known.
func (v view) IsXPreserveUnknownFields() bool { return v.preserve }

// XListType tells how items of a list are told apart.
func (v view) XListType() string { return v.listType }

// XListMapKeys are the fields by which they are.
func (v view) XListMapKeys() []string { return v.listKeys }

// XMapType tells whether an object is owned as a whole.
func (v view) XMapType() string { return v.mapType }

// XValidations is not looked at.
func (v view) XValidations() []common.ValidationRule { return nil }

// WithTypeAndObjectMeta is the schema of a whole object.
func (v view) WithTypeAndObjectMeta() common.Schema { return view{v.withMetadata()} }
