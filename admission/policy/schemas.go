package policy

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/openapi"
	"github.com/miniapiserver/miniapiserver/ssa"
)

// PublishedSchema returns a function for Checker.Schema that finds the built-in kinds of a
// catalogue.
func PublishedSchema(c *api.Catalogue) func(schema.GroupVersionKind) (*spec.Schema, error) {
	return func(kind schema.GroupVersionKind) (*spec.Schema, error) {
		name, ok := ssa.Definition(c, kind)
		if !ok {
			return nil, nil
		}
		defs, err := openapi.Open(c.Reductions())
		if err != nil {
			return nil, err
		}
		r := &schemaResolver{defs: defs, within: map[string]bool{}}
		out, err := r.resolve(name)
		if err != nil {
			return nil, fmt.Errorf("schema of %v: %w", kind, err)
		}
		return out, nil
	}
}

// schemaResolver replaces references by the schemas that they refer to.
type schemaResolver struct {
	defs   *openapi.Definitions
	within map[string]bool // definitions that are being resolved
}

func (r *schemaResolver) resolve(name string) (*spec.Schema, error) {
	if r.within[name] { // recursive definition
		return &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}, nil
	}
	def, ok, err := r.defs.Get(name)
	if err != nil || !ok {
		return nil, err
	}
	s := &spec.Schema{}
	if err := json.Unmarshal(def.V2, s); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.within[name] = true
	defer delete(r.within, name)
	return s, r.fill(s)
}

// fill resolves the references within s in place.
func (r *schemaResolver) fill(s *spec.Schema) error {
	for name, p := range s.Properties {
		if err := r.replace(&p); err != nil {
			return err
		}
		s.Properties[name] = p
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		if err := r.replace(s.AdditionalProperties.Schema); err != nil {
			return err
		}
	}
	if s.Items != nil && s.Items.Schema != nil {
		return r.replace(s.Items.Schema)
	}
	return nil
}

func (r *schemaResolver) replace(s *spec.Schema) error {
	name, ok := strings.CutPrefix(s.Ref.String(), "#/definitions/")
	if !ok {
		return r.fill(s)
	}
	found, err := r.resolve(name)
	if err == nil && found == nil {
		err = fmt.Errorf("no OpenAPI definition of %q", name)
	}
	if err == nil {
		*s = *found
	}
	return err
}
