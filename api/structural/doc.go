// Package structural is the schemas of custom kinds: what a
// CustomResourceDefinition says of its objects, checked (check.go,
// shape.go), and compiled
// to what prunes (prune.go), defaults (default.go) and validates (validate.go)
// them.
//
// A Schema is made of the published JSONSchemaProps and never changed. The kind
// CustomResourceDefinition in package api checks schemas with it, and api/crd
// makes kinds of them.
package structural

import (
	"encoding/json"
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// Schema is the schema of a whole object of one version.
type Schema struct {
	props *apiextensionsv1.JSONSchemaProps
	root  *node
	// validator is made when something is validated for the first time.
	validator func() *validate.SchemaValidator
}

// node is what the schema says of one value, as far as its shape goes.
type node struct {
	fields map[string]*node
	// values is for what has no name in fields; any: it may be anything.
	values *node
	any    bool
	items  *node

	preserve, embedded, nullable, object bool
	// value is the default, which must not be changed; set tells that there is one.
	value any
	set   bool
}

// New compiles a schema, which must have been checked.
func New(props *apiextensionsv1.JSONSchemaProps) (*Schema, error) {
	root, err := compile(props)
	if err != nil {
		return nil, err
	}
	open, err := openAPI(props)
	if err != nil {
		return nil, err
	}
	return &Schema{props: props, root: root, validator: sync.OnceValue(func() *validate.SchemaValidator {
		return validate.NewSchemaValidator(open, nil, "", strfmt.Default)
	})}, nil
}

// Props is the published form, which must not be changed.
func (s *Schema) Props() *apiextensionsv1.JSONSchemaProps { return s.props }

func compile(p *apiextensionsv1.JSONSchemaProps) (*node, error) {
	if p == nil {
		return nil, nil
	}
	n := &node{
		preserve: p.XPreserveUnknownFields != nil && *p.XPreserveUnknownFields,
		embedded: p.XEmbeddedResource, nullable: p.Nullable, object: p.Type == "object",
	}
	if p.Default != nil {
		if err := utiljson.Unmarshal(p.Default.Raw, &n.value); err != nil {
			return nil, fmt.Errorf("default: %w", err)
		}
		n.set = n.value != nil || p.Nullable
	}
	var err error
	if len(p.Properties) > 0 {
		n.fields = make(map[string]*node, len(p.Properties))
		for name := range p.Properties {
			sub := p.Properties[name]
			if n.fields[name], err = compile(&sub); err != nil {
				return nil, err
			}
		}
	}
	if p.AdditionalProperties != nil {
		n.any = p.AdditionalProperties.Allows && p.AdditionalProperties.Schema == nil
		if n.values, err = compile(p.AdditionalProperties.Schema); err != nil {
			return nil, err
		}
	}
	if p.Items != nil {
		n.items, err = compile(p.Items.Schema)
	}
	return n, err
}

// openAPI is a schema in the form that the validator reads. The two have one
// form in JSON, but that a value which is a number or a string is said in types.
func openAPI(p *apiextensionsv1.JSONSchemaProps) (*spec.Schema, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	out := &spec.Schema{}
	if err := json.Unmarshal(data, out); err != nil {
		return nil, err
	}
	adapt(out)
	return out, nil
}

// knownFormat tells of formats by which strings are judged; others are for people.
func knownFormat(format string) bool {
	return format == "" || strfmt.Default.ContainsName(format)
}

func adapt(s *spec.Schema) {
	if s == nil {
		return
	}
	if is, _ := s.Extensions.GetBool("x-kubernetes-int-or-string"); is {
		s.Type = spec.StringOrArray{"integer", "string"}
	}
	if !knownFormat(s.Format) {
		s.Format = ""
	}
	s.Default = nil
	adapt(s.Not)
	for _, list := range [][]spec.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			adapt(&list[i])
		}
	}
	for name, sub := range s.Properties {
		adapt(&sub)
		s.Properties[name] = sub
	}
	if s.AdditionalProperties != nil {
		adapt(s.AdditionalProperties.Schema)
	}
	if s.Items != nil {
		adapt(s.Items.Schema)
	}
}
