// Package lifecycle describes EvictionRequest and Eviction, by which several requesters and
// responders take part in the graceful eviction of a pod. Both need a feature gate.
package lifecycle

import (
	"time"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group.
func Kinds(_ features.Gates) []*api.Resource {
	return []*api.Resource{
		Eviction(time.Now),
		EvictionRequest(),
	}
}
