package structural

import (
	"fmt"
	"maps"
	"sync"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/cel/common"
)

// node is what a schema says of one value, but for what combines schemas.
type node struct {
	kind   string // of value: its type
	format string
	fields map[string]*node
	// values is for what has no name in fields; any: it may be anything.
	values *node
	any    bool
	items  *node

	preserve, embedded, nullable, intOrString bool
	listType, mapType                         string
	listKeys                                  []string

	// filled are the fields that have a default.
	filled map[string]*node
	// value is the default, which must not be changed; nil means that there is none.
	value any

	maxLength, maxItems, maxProperties *int64
	required                           []string
	enum                               []any
	rules                              []rule

	// embeds, lists and defaults tell that in the value there may be embedded
	// resources, lists whose items are to differ, and fields with defaults.
	embeds, lists, defaults bool

	// views are fields as expressions see them, and whole is the node with the
	// metadata that every object has. Both are made when they are needed.
	viewed sync.Once
	views  map[string]common.Schema
	joined sync.Once
	whole  *node
}

// compile makes the node of a schema.
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
		n.rules = append(n.rules, rule{said: &p.XValidations[i]})
	}
	if err := n.compileParts(p); err != nil {
		return nil, err
	}
	n.look()
	return n, nil
}

// look notes what there may be in a value.
func (n *node) look() {
	n.filled, n.defaults = nil, false
	n.embeds, n.lists = n.embedded, n.listType == "set" || n.listType == "map"
	note := func(part *node) {
		if part != nil {
			n.embeds, n.lists = n.embeds || part.embeds, n.lists || part.lists
			n.defaults = n.defaults || part.defaults || part.value != nil
		}
	}
	note(n.items)
	note(n.values)
	for name, f := range n.fields {
		note(f)
		if f.value != nil {
			if n.filled == nil {
				n.filled = map[string]*node{}
			}
			n.filled[name] = f
		}
	}
}

func (n *node) compileParts(p *props) (err error) {
	if p.Default != nil {
		if n.value, err = decode(p.Default.Raw); err != nil {
			return fmt.Errorf("default: %w", err)
		}
	}
	for _, e := range p.Enum {
		v, err := decode(e.Raw)
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
		n.any = p.AdditionalProperties.Allows && p.AdditionalProperties.Schema == nil
		if n.values, err = compile(p.AdditionalProperties.Schema); err != nil {
			return err
		}
	}
	if p.Items != nil {
		n.items, err = compile(p.Items.Schema)
	}
	return err
}

// decode reads a value as objects of requests are read.
func decode(raw []byte) (v any, err error) {
	if len(raw) == 0 {
		return nil, nil
	}
	return v, utiljson.Unmarshal(raw, &v)
}

// field is what a node says of the field of a name; nil when nothing.
func (n *node) field(name string) *node {
	if n == nil {
		return nil
	}
	if f := n.fields[name]; f != nil {
		return f
	}
	return n.values
}

// withMetadata is a node with what every object has: kind, apiVersion, and of
// metadata what expressions may see.
func (n *node) withMetadata() *node {
	n.joined.Do(func() {
		given := n.fields["metadata"]
		if n.fields["kind"].is("string") && n.fields["apiVersion"].is("string") && given.is("object") &&
			given.fields["name"].is("string") && given.fields["generateName"].is("string") {
			n.whole = n
			return
		}
		text := &node{kind: "string"}
		n.whole = &node{
			kind: n.kind, format: n.format, values: n.values, any: n.any, items: n.items,
			preserve: n.preserve, embedded: n.embedded, nullable: n.nullable, intOrString: n.intOrString,
			listType: n.listType, mapType: n.mapType, listKeys: n.listKeys, value: n.value,
			maxLength: n.maxLength, maxItems: n.maxItems, maxProperties: n.maxProperties,
			required: n.required, enum: n.enum, fields: map[string]*node{},
		}
		maps.Copy(n.whole.fields, n.fields)
		n.whole.fields["kind"], n.whole.fields["apiVersion"] = text, text
		n.whole.fields["metadata"] = &node{kind: "object", fields: map[string]*node{"name": text, "generateName": text}}
	})
	return n.whole
}

func (n *node) is(kind string) bool { return n != nil && n.kind == kind }
