package extending

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group.
func Kinds(features.Gates) []*api.Resource {
	return []*api.Resource{
		Fleets(),
	}
}
