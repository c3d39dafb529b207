// Package lifecycle describes EvictionRequest and Eviction, by which several requesters and
// responders take part in the graceful eviction of a pod. Both need a feature gate.
package lifecycle

import (
	"time"

	"github.com/miniapiserver/miniapiserver/api"
)

// Kinds returns the kinds of the group. now is the clock.
func Kinds(now func() time.Time) []*api.Resource {
	return []*api.Resource{
		Eviction(now),
		EvictionRequest(),
	}
}
