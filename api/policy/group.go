// Package policy describes PodDisruptionBudget. The subresource pods/eviction, which asks
// the budgets, is in package pod.
package policy

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group, made for the feature gates.
func Kinds(_ features.Gates) []*api.Resource {
	return []*api.Resource{
		PodDisruptionBudget(),
	}
}
