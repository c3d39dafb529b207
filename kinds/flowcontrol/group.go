// Package flowcontrol describes FlowSchema and PriorityLevelConfiguration, the objects that
// configure API priority and fairness. Package apf applies them.
package flowcontrol

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group.
func Kinds(_ features.Gates) []*api.Resource {
	return []*api.Resource{
		FlowSchema(),
		PriorityLevelConfiguration(),
	}
}
