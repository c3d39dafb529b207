// Package apiregistration describes APIService, which registers another server for a group
// version. Package aggregation connects to these servers.
package apiregistration

import (
	"time"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group.
func Kinds(_ features.Gates) []*api.Resource {
	return []*api.Resource{
		APIService(time.Now),
	}
}
