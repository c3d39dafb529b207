// Package policy describes PodDisruptionBudget. The subresource pods/eviction, which obeys
// the budgets, is in package pod.
package policy

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group.
func Kinds(_ features.Gates) []*api.Resource {
	return []*api.Resource{
		PodDisruptionBudget(),
	}
}
