// Package node describes RuntimeClass, the choice of a container runtime.
package node

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group.
func Kinds(_ features.Gates) []*api.Resource {
	return []*api.Resource{
		RuntimeClass(),
	}
}
