// Package coordination describes Lease, the lock of leader election, and LeaseCandidate,
// which takes part in a coordinated election behind a feature gate.
package coordination

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group.
func Kinds(_ features.Gates) []*api.Resource {
	return []*api.Resource{
		Lease(),
		LeaseCandidate(),
	}
}
