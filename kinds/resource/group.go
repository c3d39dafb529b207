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
func Kinds(gates features.Gates, functions expression.Library) []*api.Resource {
	rules := NewRules(gates, functions)
	return []*api.Resource{
		DeviceClass(rules),
		DeviceTaintRule(time.Now),
		ResourceClaim(rules),
		ResourceClaimTemplate(rules),
		ResourcePoolStatusRequest(),
		ResourceSlice(rules, time.Now),
	}
}
