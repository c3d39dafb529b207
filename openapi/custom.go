package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// asToClients changes definitions for a document of custom resources, which
// kube-apiserver makes with the types that clients know: DeleteOptions are not
// said to be of the groups that are for servers alone.
func asToClients(defs []Definition) error {
	i := slices.IndexFunc(defs, func(d Definition) bool { return d.Name == modelDeleteOptions })
	if i < 0 {
		return nil
	}
	schema := map[string]json.RawMessage{}
	if err := json.Unmarshal(defs[i].V3, &schema); err != nil {
		return fmt.Errorf("schema of %s: %w", modelDeleteOptions, err)
	}
	const key = "x-kubernetes-group-version-kind"
	var kinds []map[string]string
	if err := json.Unmarshal(schema[key], &kinds); err != nil {
		return fmt.Errorf("kinds of %s: %w", modelDeleteOptions, err)
	}
	var err error
	schema[key], err = json.Marshal(slices.DeleteFunc(kinds, func(k map[string]string) bool { return forServers(k["group"]) }))
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := appendJSON(&out, schema); err != nil {
		return err
	}
	defs[i].V3 = out.Bytes()
	return nil
}

func forServers(group string) bool {
	switch group {
	case "admission.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "imagepolicy.k8s.io":
		return true
	}
	return false
}
