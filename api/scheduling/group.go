// Package scheduling describes PriorityClass, and behind a feature gate Workload and
// PodGroup, whose pods are scheduled together.
package scheduling

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group, validated for the enabled feature gates.
func Kinds(gates features.Gates) []*api.Resource {
	return []*api.Resource{
		PodGroup(gates),
		PriorityClass(),
		Workload(gates),
	}
}
