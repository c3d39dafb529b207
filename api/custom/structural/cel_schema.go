package structural

import "k8s.io/apiserver/pkg/cel/common"

// celSchema adapts a node to the schema interface of the CEL libraries. Keywords that the
// libraries do not need for types and cost estimates are absent.
type celSchema struct{ *node }

var _ common.Schema = celSchema{}

// newCELSchema returns a nil interface for a nil node.
func newCELSchema(n *node) common.Schema {
	if n == nil {
		return nil
	}
	return celSchema{n}
}

// Type implements common.Schema, as do all that follow.
func (v celSchema) Type() string { return v.kind }

// Format returns the format of a string or number.
func (v celSchema) Format() string { return v.format }

// Items returns the schema of list items.
func (v celSchema) Items() common.Schema { return newCELSchema(v.items) }

// Properties returns the schemas of the fields by name.
func (v celSchema) Properties() map[string]common.Schema {
	if v.fields == nil {
		return nil
	}
	v.celFieldsOnce.Do(func() {
		views := make(map[string]common.Schema, len(v.fields))
		for name, f := range v.fields {
			views[name] = celSchema{f}
		}
		v.celFields = views
	})
	return v.celFields
}

// AdditionalProperties returns the schema of the other fields.
func (v celSchema) AdditionalProperties() common.SchemaOrBool {
	if v.values == nil && !v.anyValue {
		return nil
	}
	return celAdditionalProperties(v)
}

// celAdditionalProperties adapts node.values and node.anyValue.
type celAdditionalProperties struct{ *node }

// Schema implements common.SchemaOrBool.
func (o celAdditionalProperties) Schema() common.Schema { return newCELSchema(o.values) }

// Allows reports whether other fields are permitted.
func (o celAdditionalProperties) Allows() bool { return true }

// Default returns the default.
func (v celSchema) Default() any { return v.defaultValue }

// Pattern is not used.
func (v celSchema) Pattern() string { return "" }

// Minimum is not used.
func (v celSchema) Minimum() *float64 { return nil }

// IsExclusiveMinimum is not used.
func (v celSchema) IsExclusiveMinimum() bool { return false }

// Maximum is not used.
func (v celSchema) Maximum() *float64 { return nil }

// IsExclusiveMaximum is not used.
func (v celSchema) IsExclusiveMaximum() bool { return false }

// MultipleOf is not used.
func (v celSchema) MultipleOf() *float64 { return nil }

// MinItems is not used.
func (v celSchema) MinItems() *int64 { return nil }

// MaxItems returns the maximum length of a list.
func (v celSchema) MaxItems() *int64 { return v.maxItems }

// MinLength is not used.
func (v celSchema) MinLength() *int64 { return nil }

// MaxLength returns the maximum length of a string.
func (v celSchema) MaxLength() *int64 { return v.maxLength }

// MinProperties is not used.
func (v celSchema) MinProperties() *int64 { return nil }

// MaxProperties returns the maximum number of fields.
func (v celSchema) MaxProperties() *int64 { return v.maxProperties }

// Required returns the names of the required fields.
func (v celSchema) Required() []string { return v.required }

// Enum returns the permitted values.
func (v celSchema) Enum() []any { return v.enum }

// Nullable reports whether the value may be null.
func (v celSchema) Nullable() bool { return v.nullable }

// UniqueItems is always false: definitions may not use the keyword.
func (v celSchema) UniqueItems() bool { return false }

// AllOf is not used.
func (v celSchema) AllOf() []common.Schema { return nil }

// OneOf is not used.
func (v celSchema) OneOf() []common.Schema { return nil }

// AnyOf is not used.
func (v celSchema) AnyOf() []common.Schema { return nil }

// Not is not used.
func (v celSchema) Not() common.Schema { return nil }

// IsXIntOrString reports x-kubernetes-int-or-string.
func (v celSchema) IsXIntOrString() bool { return v.intOrString }

// IsXEmbeddedResource reports x-kubernetes-embedded-resource.
func (v celSchema) IsXEmbeddedResource() bool { return v.embedded }

// IsXPreserveUnknownFields reports x-kubernetes-preserve-unknown-fields.
func (v celSchema) IsXPreserveUnknownFields() bool { return v.preserve }

// XListType returns x-kubernetes-list-type.
func (v celSchema) XListType() string { return v.listType }

// XListMapKeys returns x-kubernetes-list-map-keys.
func (v celSchema) XListMapKeys() []string { return v.listKeys }

// XMapType returns x-kubernetes-map-type.
func (v celSchema) XMapType() string { return v.mapType }

// XValidations is not used.
func (v celSchema) XValidations() []common.ValidationRule { return nil }

// WithTypeAndObjectMeta returns the schema with apiVersion, kind and metadata.
func (v celSchema) WithTypeAndObjectMeta() common.Schema { return celSchema{v.withMetadata()} }
