package structural

import (
	"fmt"
	"maps"
	"sync"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/cel/common"
)

// node is the compiled schema of one value, without allOf, anyOf, oneOf and not.
type node struct {
	kind   string // JSON schema type
	format string
	fields map[string]*node
	// values is the schema of additionalProperties; anyValue: additionalProperties is true.
	values   *node
	anyValue bool
	items    *node

	preserve, embedded, nullable, intOrString bool
	listType, mapType                         string
	listKeys                                  []string

	// defaulted has the fields with a default.
	defaulted map[string]*node
	// defaultValue is the default, which is immutable; nil for none.
	defaultValue any
	// defaultSize is the approximate memory of the default.
	defaultSize int

	maxLength, maxItems, maxProperties *int64
	required                           []string
	enum                               []any
	rules                              []rule

	// containsEmbedded, containsKeyedLists and containsDefaults: the value may contain
	// embedded resources, lists of type set or map, or fields with defaults.
	containsEmbedded, containsKeyedLists, containsDefaults bool

	// celFields has the fields for the CEL libraries, and withMeta is the node with
	// apiVersion, kind and metadata. Both are made at the first use.
	celFieldsOnce sync.Once
	celFields     map[string]common.Schema
	withMetaOnce  sync.Once
	withMeta      *node
	// unboundedNames: withMeta has names without a maximum length.
	unboundedNames bool
}

// compile returns the node of a schema.
func compile(p *props) (*node, error) {
	if p == nil {
		return nil, nil
	}
	n := &node{
		kind: p.Type, format: p.Format,
		preserve: p.XPreserveUnknownFields != nil && *p.XPreserveUnknownFields,
		embedded: p.XEmbeddedResource, nullable: p.Nullable, intOrString: p.XIntOrString,
		listKeys:  p.XListMapKeys,
		maxLength: p.MaxLength, maxItems: p.MaxItems, maxProperties: p.MaxProperties, required: p.Required,
	}
	if p.XListType != nil {
		n.listType = *p.XListType
	}
	if p.XMapType != nil {
		n.mapType = *p.XMapType
	}
	for i := range p.XValidations {
		n.rules = append(n.rules, rule{definition: &p.XValidations[i]})
	}
	if err := n.compileParts(p); err != nil {
		return nil, err
	}
	n.summarize()
	return n, nil
}

// summarize sets defaulted and the contains... fields from the nodes below n.
func (n *node) summarize() {
	n.defaulted, n.containsDefaults = nil, false
	if n.defaultValue != nil {
		n.defaultSize = sizeOfDefault(n.defaultValue)
	}
	n.containsEmbedded, n.containsKeyedLists = n.embedded, n.listType == "set" || n.listType == "map"
	note := func(part *node) {
		if part != nil {
			n.containsEmbedded, n.containsKeyedLists = n.containsEmbedded || part.containsEmbedded, n.containsKeyedLists || part.containsKeyedLists
			n.containsDefaults = n.containsDefaults || part.containsDefaults || part.defaultValue != nil
		}
	}
	note(n.items)
	note(n.values)
	for name, f := range n.fields {
		note(f)
		if f.defaultValue != nil {
			if n.defaulted == nil {
				n.defaulted = map[string]*node{}
			}
			n.defaulted[name] = f
		}
	}
}

func (n *node) compileParts(p *props) (err error) {
	if p.Default != nil {
		if n.defaultValue, err = decodeValue(p.Default.Raw); err != nil {
			return fmt.Errorf("default: %w", err)
		}
	}
	for _, e := range p.Enum {
		v, err := decodeValue(e.Raw)
		if err != nil {
			return fmt.Errorf("enum: %w", err)
		}
		n.enum = append(n.enum, v)
	}
	if len(p.Properties) > 0 {
		n.fields = make(map[string]*node, len(p.Properties))
		for name, sub := range p.Properties {
			if n.fields[name], err = compile(&sub); err != nil {
				return err
			}
		}
	}
	if p.AdditionalProperties != nil {
		n.anyValue = p.AdditionalProperties.Allows && p.AdditionalProperties.Schema == nil
		if n.values, err = compile(p.AdditionalProperties.Schema); err != nil {
			return err
		}
	}
	if p.Items != nil {
		n.items, err = compile(p.Items.Schema)
	}
	return err
}

// decodeValue decodes JSON like the objects in requests: integers to int64.
func decodeValue(raw []byte) (v any, err error) {
	if len(raw) == 0 {
		return nil, nil
	}
	return v, utiljson.Unmarshal(raw, &v)
}

// field returns the node of a field; nil if the schema does not describe the field.
func (n *node) field(name string) *node {
	if n == nil {
		return nil
	}
	if f := n.fields[name]; f != nil {
		return f
	}
	return n.values
}

// withMetadata returns n with kind, apiVersion, metadata.name and metadata.generateName,
// which validation rules may use.
func (n *node) withMetadata() *node {
	n.withMetaOnce.Do(func() {
		given := n.fields["metadata"]
		if n.fields["kind"].is("string") && n.fields["apiVersion"].is("string") && given.is("object") &&
			given.fields["name"].is("string") && given.fields["generateName"].is("string") {
			n.withMeta = n
			return
		}
		text := &node{kind: "string"}
		n.withMeta = &node{
			kind: n.kind, format: n.format, values: n.values, anyValue: n.anyValue, items: n.items,
			preserve: n.preserve, embedded: n.embedded, nullable: n.nullable, intOrString: n.intOrString,
			listType: n.listType, mapType: n.mapType, listKeys: n.listKeys, defaultValue: n.defaultValue,
			maxLength: n.maxLength, maxItems: n.maxItems, maxProperties: n.maxProperties,
			required: n.required, enum: n.enum, fields: map[string]*node{},
		}
		maps.Copy(n.withMeta.fields, n.fields)
		n.withMeta.fields["kind"], n.withMeta.fields["apiVersion"] = text, text
		if n.unboundedNames {
			n.withMeta.fields["metadata"] = &node{kind: "object", fields: map[string]*node{"name": text, "generateName": text}}
			return
		}
		n.withMeta.fields["metadata"] = &node{kind: "object", fields: map[string]*node{
			"name":         given.boundedText("name", validation.DNS1123SubdomainMaxLength),
			"generateName": given.boundedText("generateName", validation.DNS1123SubdomainMaxLength-1), // a suffix follows
		}}
	})
	return n.withMeta
}

// boundedText returns the node of a string with at most a number of characters, or fewer if the
// schema of the field says so. The bound makes the estimated cost of rules realistic.
func (n *node) boundedText(field string, bound int) *node {
	length := int64(bound)
	if n != nil && n.fields[field] != nil && n.fields[field].maxLength != nil {
		length = min(length, *n.fields[field].maxLength)
	}
	return &node{kind: "string", maxLength: &length}
}

func (n *node) is(kind string) bool { return n != nil && n.kind == kind }
