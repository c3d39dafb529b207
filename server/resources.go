package server

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/builtin"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// resources returns the kinds of some feature gates, each in the versions that
// --runtime-config enables.
func (o Options) resources(gates features.Gates) ([]*api.Resource, error) {
	resources, err := api.Enable(builtin.KindsFor(gates), o.RuntimeConfig, gates)
	if err != nil {
		return nil, fmt.Errorf("--runtime-config: %w", err)
	}
	return resources, nil
}

// findResource returns a resource that the server itself uses, whether it is served or not.
func findResource(c *api.Catalogue, gv schema.GroupVersion, name string) (*api.Resource, *api.Version, bool) {
	for _, r := range c.Resources() {
		if v := r.Version(gv); v != nil && r.Name == name {
			return r, v, true
		}
	}
	return nil, nil, false
}
