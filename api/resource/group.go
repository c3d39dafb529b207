// Package resource describes the kinds of dynamic resource allocation: drivers publish
// devices in ResourceSlices, pods request devices with ResourceClaims, and DeviceClasses
// select devices in CEL. deviceexpression_validate.go compiles these expressions.
package resource

import (
	"time"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group.
func Kinds(_ features.Gates) []*api.Resource {
	return []*api.Resource{
		DeviceClass(),
		DeviceTaintRule(time.Now),
		ResourceClaim(),
		ResourceClaimTemplate(),
		ResourcePoolStatusRequest(),
		ResourceSlice(time.Now),
	}
}
