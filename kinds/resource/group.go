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

// Kinds returns the kinds of the group, in which new expressions may call some functions. now is the clock.
func Kinds(gates features.Gates, functions expression.Library, now func() time.Time) []*api.Resource {
	rules := NewRules(gates, functions)
	return []*api.Resource{
		DeviceClass(rules),
		DeviceTaintRule(now),
		ResourceClaim(rules),
		ResourceClaimTemplate(rules),
		ResourcePoolStatusRequest(),
		ResourceSlice(rules, now),
	}
}
