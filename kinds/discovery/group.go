// Package discovery describes EndpointSlice, the addresses behind a Service.
package discovery

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group.
func Kinds(gates features.Gates) []*api.Resource {
	return []*api.Resource{
		EndpointSlice(gates),
	}
}
