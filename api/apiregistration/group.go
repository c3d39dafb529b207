// Package apiregistration describes APIService, by which another server takes over a
// group version. Package aggregation connects to these servers.
package apiregistration

import (
	"time"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group, made for the feature gates.
func Kinds(_ features.Gates) []*api.Resource {
	return []*api.Resource{
		APIService(time.Now),
	}
}
