package server

import (
	"fmt"
	"strings"

	"github.com/miniapiserver/miniapiserver/api"
)

// needed is what the server itself makes objects of when it starts.
func needed() []string { return []string{"namespaces", "services", "endpoints"} }

// resources are the kinds, each in the versions that --runtime-config chooses.
func (o Options) resources() ([]*api.Resource, error) {
	resources, err := api.Enable(api.BuiltIn(), o.RuntimeConfig)
	if err != nil {
		return nil, fmt.Errorf("--runtime-config: %w", err)
	}
	off := map[string]bool{}
	for _, r := range resources {
		if v := r.Versions[0]; v.Group == "" && v.NotServed {
			off[r.Name] = true
		}
	}
	for _, name := range needed() {
		if off[name] {
			return nil, fmt.Errorf("--runtime-config: %s of v1 cannot be off (api/v1=true turns them on): the server needs %s", name, strings.Join(needed(), ", "))
		}
	}
	return resources, nil
}
