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
