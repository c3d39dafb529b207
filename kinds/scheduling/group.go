// Package scheduling describes PriorityClass, and behind feature gates Workload, PodGroup, whose
// pods are scheduled together, and CompositePodGroup.
package scheduling

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group.
func Kinds(_ features.Gates) []*api.Resource {
	return []*api.Resource{
		CompositePodGroup(),
		PodGroup(),
		PriorityClass(),
		Workload(),
	}
}
