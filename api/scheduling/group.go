// Package scheduling describes PriorityClass, and behind feature gates Workload, PodGroup, whose
// pods are scheduled together, and CompositePodGroup.
package scheduling

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group, validated for the enabled feature gates.
func Kinds(gates features.Gates) []*api.Resource {
	return []*api.Resource{
		CompositePodGroup(gates),
		PodGroup(gates),
		PriorityClass(),
		Workload(gates),
	}
}
