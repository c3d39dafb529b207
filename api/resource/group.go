// Package resource describes the kinds of dynamic resource allocation: drivers publish
// devices in ResourceSlices, pods request devices with ResourceClaims, and DeviceClasses
// select devices in CEL. deviceexpression_validate.go compiles these expressions.
package resource

import (
	"time"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group, in which new expressions may call some functions.
func Kinds(_ features.Gates, functions expression.Library) []*api.Resource {
	return []*api.Resource{
		DeviceClass(functions),
		DeviceTaintRule(time.Now),
		ResourceClaim(functions),
		ResourceClaimTemplate(functions),
		ResourcePoolStatusRequest(),
		ResourceSlice(time.Now),
	}
}
