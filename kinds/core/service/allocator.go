package service

import (
	"context"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
)

// Allocator allocates the IP addresses and node ports of services. If the write fails, its
// allocations are released; values that it releases become available when the write is done.
type Allocator interface {
	// Families returns the address families of the service CIDRs, the preferred one first:
	// "IPv4", "IPv6".
	Families() []string
	// AllocateIP allocates an address for owner: the requested one or, if that is the zero
	// Addr, any of the family.
	AllocateIP(ctx context.Context, family string, requested netip.Addr, owner *corev1.Service) (netip.Addr, error)
	// ReleaseIP releases an address of owner.
	ReleaseIP(ip netip.Addr, owner *corev1.Service)
	// AllocatePort allocates the requested node port or, if that is 0, any.
	AllocatePort(ctx context.Context, requested int32) (int32, error)
	// ReleasePort releases a node port.
	ReleasePort(port int32)
}

// FamilyOf returns the address family of ip: "IPv4" or "IPv6".
func FamilyOf(ip netip.Addr) string {
	if ip.Is4() {
		return "IPv4"
	}
	return "IPv6"
}

// AllocationError reports why an Allocator cannot allocate the requested value.
type AllocationError struct{ Reason string }

// Error implements error.
func (e *AllocationError) Error() string { return e.Reason }
