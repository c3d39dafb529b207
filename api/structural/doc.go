// Package structural is the schemas of custom kinds: what a
// CustomResourceDefinition says of its objects, checked (check.go, shape.go,
// default_check.go, rule_check.go), and compiled to what prunes (prune.go),
// coerces embedded metadata (embedded.go), defaults (default.go) and validates
// objects: their values (validate.go, by the library's validator, with what
// ratcheting tolerates in ratchet.go), lists whose items are to differ
// (lists.go), and validation rules, which are CEL expressions (rules.go,
// evaluate.go).
//
// A Schema is made of the published JSONSchemaProps and never changed. It holds
// their text, and what is made of it only once it is needed: a kind without
// objects costs little more than its definition. The kind
// CustomResourceDefinition in package api checks schemas, and api/crd makes kinds
// of them.
package structural

import (
	"encoding/json"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type props = apiextensionsv1.JSONSchemaProps

// Schema is the schema of a whole object of one version.
type Schema struct {
	stored func() stored
	// keeps: objects keep fields that the schema does not know, and nulls.
	keeps bool
	// Each is made when it is first asked for: the shape, the validators of whole
	// objects and of status, and the rules; nil where there is nothing to do.
	shape     func() *node
	validator func() *validator
	status    func() *validator
	rules     func() *rules
	settled   func() bool
}

// New compiles a schema, which must have been checked.
func New(p *props) (*Schema, error) {
	text, err := textOf(p)
	if err != nil {
		return nil, err
	}
	if _, err := compile(p); err != nil {
		return nil, err
	}
	return of(func() stored { return stored{text: text} }), nil
}

// Later is New of a schema that source reads when it is needed. If that fails, or the
// schema cannot be compiled, the Schema has a Fault.
func Later(source func() (*props, error)) *Schema {
	return of(sync.OnceValue(func() stored {
		p, err := source()
		if err == nil {
			_, err = compile(p)
		}
		var text []byte
		if err == nil {
			text, err = textOf(p)
		}
		if err != nil {
			return stored{text: []byte(`{"x-kubernetes-preserve-unknown-fields":true}`), fault: err}
		}
		return stored{text: text}
	}))
}

// Fault returns why no object can be judged by the schema; nil if objects can. With a
// fault, Prune, Default and Coerce leave objects as they are, so that what is stored
// can be read, and Validate finds nothing: the caller refuses to store objects.
func (s *Schema) Fault() error { return s.stored().fault }

// Keeping is s for objects which keep all that is in them, whatever the schema says,
// as those of definitions did before schemas had to be structural.
func (s *Schema) Keeping() *Schema {
	out := of(s.stored)
	out.keeps = true
	return out
}

// stored is the text of a schema, or of one that everything fits if it has a fault.
type stored struct {
	text  []byte
	fault error
}

func of(source func() stored) *Schema {
	s := &Schema{stored: source}
	s.shape = sync.OnceValue(func() *node {
		n, err := compile(s.props())
		if err != nil {
			return &node{} // it was compiled before
		}
		pruneDefaults(n)
		return n
	})
	s.settled = sync.OnceValue(func() bool { return s.keeps || settles(s.shape()) })
	s.validator = sync.OnceValue(func() *validator { return newValidator(s.props(), false) })
	s.status = sync.OnceValue(func() *validator {
		if status, ok := s.props().Properties["status"]; ok {
			return newValidator(&status, false)
		}
		return nil
	})
	s.rules = sync.OnceValue(func() *rules { return newRules(s.shape(), true) })
	return s
}

// props is the published form, but for what is for people.
func (s *Schema) props() *props {
	p := &props{}
	// It is what was marshalled.
	_ = json.Unmarshal(s.stored().text, p)
	return p
}

// textOf is a schema as it is kept: without descriptions, which are most of it.
func textOf(p *props) ([]byte, error) { return json.Marshal(terse(p)) }

// terse is p without what is for people. It shares what it can with p.
func terse(p *props) *props {
	if p == nil {
		return nil
	}
	out := *p
	out.Title, out.Description, out.Example, out.ExternalDocs = "", "", nil, nil
	if p.Properties != nil {
		out.Properties = make(map[string]props, len(p.Properties))
		for name, sub := range p.Properties {
			out.Properties[name] = *terse(&sub)
		}
	}
	if p.Items != nil {
		out.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: terse(p.Items.Schema)}
	}
	if a := p.AdditionalProperties; a != nil {
		out.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: a.Allows, Schema: terse(a.Schema)}
	}
	return &out
}
