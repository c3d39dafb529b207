package openapi

import (
	"encoding/json"
	"fmt"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Schema returns the definition for validators. References are not resolved.
func (d Definition) Schema() (*spec.Schema, error) {
	s := &spec.Schema{}
	if err := json.Unmarshal(d.V3, s); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", d.Name, err)
	}
	return s, nil
}

// Schemas returns the named definitions and all that they refer to, by name.
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
