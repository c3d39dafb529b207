package openapi

import (
	"encoding/json"
	"fmt"

	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Schema is the definition in the form that validators take. What it refers to
// stays a reference.
func (d Definition) Schema() (*spec.Schema, error) {
	s := &spec.Schema{}
	if err := json.Unmarshal(d.V3, s); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", d.Name, err)
	}
	return s, nil
}

// Schemas are definitions and everything that they refer to, by name.
func (d *Definitions) Schemas(names ...string) (map[string]*spec.Schema, error) {
	defs, err := d.Closure(names...)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*spec.Schema, len(defs))
	for _, def := range defs {
		if out[def.Name], err = def.Schema(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Parser is the merge topology of definitions and of everything that they refer
// to: which lists are sets or maps and by which keys, and what is replaced as a
// whole. Its types have the definitions' names.
func (d *Definitions) Parser(names ...string) (*typed.Parser, error) {
	schemas, err := d.Schemas(names...)
	if err != nil {
		return nil, err
	}
	topology, err := schemaconv.ToSchemaFromOpenAPI(schemas, false)
	if err != nil {
		return nil, fmt.Errorf("merge topology: %w", err)
	}
	p := &typed.Parser{}
	p.Schema.Types = topology.Types
	return p, nil
}
