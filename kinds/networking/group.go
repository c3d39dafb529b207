// Package networking describes Ingress, IngressClass and NetworkPolicy, and the kinds of
// Service addresses: IPAddress and ServiceCIDR.
package networking

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group.
func Kinds(gates features.Gates) []*api.Resource {
	return []*api.Resource{
		Ingress(gates),
		IngressClass(),
		IPAddress(),
		NetworkPolicy(gates),
		ServiceCIDR(gates),
	}
}
