// Package autoscaling describes HorizontalPodAutoscaler in versions v2 and v1. Version v1
// has annotations for the metrics for which it lacks fields. Package scale has the scale
// subresource.
package autoscaling

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group for the feature gates.
func Kinds(gates features.Gates) []*api.Resource {
	return []*api.Resource{
		HorizontalPodAutoscaler(gates),
	}
}
