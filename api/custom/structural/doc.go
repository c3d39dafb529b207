// Package structural implements the schemas of CustomResourceDefinitions.
//
// It checks schemas (check.go, shape.go, default_check.go, rule_check.go). A compiled
// schema prunes objects (prune.go), coerces embedded metadata (embedded.go), sets defaults
// (default.go) and validates: values with the library's validator (validate.go) and
// ratcheting (ratchet.go), lists with unique items (lists.go), and validation rules, which
// are CEL expressions (rules.go, evaluate.go).
//
// A Schema is immutable. It keeps the JSON of JSONSchemaProps and compiles a part of it
// when an object first needs that part, so that a kind without objects costs little more
// than its definition. Package apiextensions checks the schemas of a written definition;
// package custom compiles kinds.
package structural

import (
	"encoding/json"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type props = apiextensionsv1.JSONSchemaProps

// Schema is the schema of the objects of one version.
type Schema struct {
	source func() schemaText
	// preservesUnknown: objects keep unknown fields and nulls (spec.preserveUnknownFields).
	preservesUnknown bool
	release          Release
	// Each function compiles its part at the first call: the nodes, the validators of
	// objects and of status, and the rules. It returns nil if there is nothing to do.
	shape               func() *node
	validator           func() *validator
	status              func() *validator
	rules               func() *rules
	defaultIsIdempotent func() bool
}

// New returns a schema that is read from source when it is first needed, and is treated as in a release. If source
// fails, or the schema cannot be compiled, Err returns the error.
func New(source func() (*props, error), r Release) *Schema {
	return newSchema(sync.OnceValue(func() schemaText {
		p, err := source()
		if err == nil {
			_, err = compile(p)
		}
		var text []byte
		if err == nil {
			text, err = marshalWithoutDocs(p)
		}
		if err != nil {
			return schemaText{text: []byte(`{"x-kubernetes-preserve-unknown-fields":true}`), err: err}
		}
		return schemaText{text: text}
	}), r)
}

// Err returns why the schema cannot be used; nil if it can. With an error, Prune, Default
// and Coerce leave objects unchanged, so that stored objects can be read, and Validate
// finds nothing: the caller refuses to store objects.
func (s *Schema) Err() error { return s.source().err }

// PreservingUnknownFields returns s without pruning, for definitions with
// spec.preserveUnknownFields, from before schemas had to be structural.
func (s *Schema) PreservingUnknownFields() *Schema {
	out := newSchema(s.source, s.release)
	out.preservesUnknown = true
	return out
}

// schemaText is the JSON of a schema; with err, of a schema that permits everything.
type schemaText struct {
	text []byte
	err  error
}

func newSchema(source func() schemaText, r Release) *Schema {
	s := &Schema{source: source, release: r}
	s.shape = sync.OnceValue(func() *node {
		n, err := compile(s.props())
		if err != nil {
			return &node{} // cannot happen: source has compiled it
		}
		pruneDefaults(n)
		return n
	})
	s.defaultIsIdempotent = sync.OnceValue(func() bool { return s.preservesUnknown || isIdempotentDefault(s.shape()) })
	s.validator = sync.OnceValue(func() *validator { return newValidator(s.props(), r.validatesFormat) })
	s.status = sync.OnceValue(func() *validator {
		if status, ok := s.props().Properties["status"]; ok {
			return newValidator(&status, r.validatesFormat)
		}
		return nil
	})
	s.rules = sync.OnceValue(func() *rules { return newRules(s.shape(), true) })
	return s
}

// props returns the published form of the schema without documentation.
func (s *Schema) props() *props {
	p := &props{}
	// The text is the result of json.Marshal and can be decoded.
	_ = json.Unmarshal(s.source().text, p)
	return p
}

// marshalWithoutDocs returns the JSON of a schema without descriptions, which are most of
// its size.
func marshalWithoutDocs(p *props) ([]byte, error) { return json.Marshal(withoutDocs(p)) }

// withoutDocs returns p without documentation. The result shares memory with p.
func withoutDocs(p *props) *props {
	if p == nil {
		return nil
	}
	out := *p
	out.Title, out.Description, out.Example, out.ExternalDocs = "", "", nil, nil
	if p.Properties != nil {
		out.Properties = make(map[string]props, len(p.Properties))
		for name, sub := range p.Properties {
			out.Properties[name] = *withoutDocs(&sub)
		}
	}
	if p.Items != nil {
		out.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: withoutDocs(p.Items.Schema)}
	}
	if a := p.AdditionalProperties; a != nil {
		out.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: a.Allows, Schema: withoutDocs(a.Schema)}
	}
	return &out
}
