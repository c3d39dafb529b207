package api

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/proto"
)

// Allocator allocates the IP addresses and node ports of services. If the write fails, its
// allocations are released; values that it releases become available when the write is done.
type Allocator interface {
	// Families returns the address families of the service CIDRs, the preferred one first:
	// "IPv4", "IPv6".
	Families() []string
	// AllocateIP allocates an address for owner: the requested one or, if that is the zero
	// Addr, any of the family.
	AllocateIP(ctx context.Context, family string, requested netip.Addr, owner Object) (netip.Addr, error)
	// ReleaseIP releases an address of owner.
	ReleaseIP(ip netip.Addr, owner Object)
	// AllocatePort allocates the requested node port or, if that is 0, any.
	AllocatePort(ctx context.Context, requested int32) (int32, error)
	// ReleasePort releases a node port.
	ReleasePort(port int32)
}

// PortsKey is the etcd key of the bitmap of allocated node ports. Allocated addresses are
// stored as objects of AddressResource. Both have the format of kube-apiserver.
const PortsKey = "ranges/servicenodeports"

// PortsResource is the resource of the core group whose etcd has PortsKey.
const PortsResource = "services"

// addressManager is the value of the label ipaddress.kubernetes.io/managed-by of IPAddresses
// that an allocator created.
const addressManager = "ipallocator.k8s.io"

// AddressResource returns the resource of allocated addresses.
func AddressResource() schema.GroupResource {
	return schema.GroupResource{Group: networkingv1.GroupName, Resource: "ipaddresses"}
}

// RangeResource returns the resource of the ranges from which addresses are allocated.
func RangeResource() schema.GroupResource {
	return schema.GroupResource{Group: networkingv1.GroupName, Resource: "servicecidrs"}
}

// AddressRangesOf returns the ranges of a ServiceCIDR, and reports whether addresses can be allocated
// from them. A ServiceCIDR is ready unless its status denies it or it is being deleted: without a
// controller that maintains the status, it has none.
func AddressRangesOf(obj Object) (ranges []netip.Prefix, ready bool) {
	cidr, ok := obj.(*networkingv1.ServiceCIDR)
	if !ok {
		return nil, false
	}
	for _, text := range cidr.Spec.CIDRs {
		if p, err := netip.ParsePrefix(text); err == nil {
			ranges = append(ranges, p.Masked())
		}
	}
	c := meta.FindStatusCondition(cidr.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	return ranges, cidr.DeletionTimestamp.IsZero() && (c == nil || c.Status == metav1.ConditionTrue)
}

// AllocatedIPAddress returns the IPAddress that records the allocation of ip to owner, an
// object of resource.
func AllocatedIPAddress(ip netip.Addr, resource string, owner Object) Object {
	return &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: ip.String(), Labels: map[string]string{
			"ipaddress.kubernetes.io/ip-family": FamilyOf(ip),
			networkingv1.LabelManagedBy:         addressManager,
		}},
		Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{
			Resource: resource, Namespace: owner.GetNamespace(), Name: owner.GetName()}},
	}
}

// IPClaim is the content of an IPAddress: an address and a reference to its owner.
type IPClaim struct {
	IP                               netip.Addr
	Group, Resource, Namespace, Name string
}

// IPClaimOf returns the content of an IPAddress that an allocator created; ok is false for
// other objects.
func IPClaimOf(obj Object) (c IPClaim, ok bool) {
	address, ok := obj.(*networkingv1.IPAddress)
	if !ok || address.Labels[networkingv1.LabelManagedBy] != addressManager {
		return c, false
	}
	ip, err := netip.ParseAddr(address.Name)
	if err != nil {
		return c, false
	}
	c.IP = ip
	if ref := address.Spec.ParentRef; ref != nil {
		c.Group, c.Resource, c.Namespace, c.Name = ref.Group, ref.Resource, ref.Namespace, ref.Name
	}
	return c, true
}

// DecodePorts decodes the bitmap of allocated ports: bit n is the nth port after the first.
// An empty value means that none is allocated.
func DecodePorts(value []byte) (*big.Int, error) {
	var state corev1.RangeAllocation
	if err := bounds.YAML(value); err != nil && !proto.Is(value) {
		return nil, fmt.Errorf("stored node ports: %w", err)
	}
	switch {
	case proto.Is(value):
		e, err := proto.Decode(value)
		if err == nil {
			err = state.Unmarshal(e.Raw)
		}
		if err != nil {
			return nil, fmt.Errorf("stored node ports: %w", err)
		}
	case len(value) > 0:
		if err := yaml.Unmarshal(value, &state); err != nil { // JSON is YAML
			return nil, fmt.Errorf("stored node ports: %w", err)
		}
	}
	return new(big.Int).SetBytes(state.Data), nil
}

// EncodePorts encodes the value that DecodePorts decodes.
func EncodePorts(as Encoding, first, last int32, used *big.Int) ([]byte, error) {
	state := corev1.RangeAllocation{Range: fmt.Sprintf("%d-%d", first, last), Data: used.Bytes()}
	const version, kind = "v1", "RangeAllocation"
	if as == Protobuf {
		return proto.Append(nil, version, kind, &state)
	}
	state.TypeMeta = metav1.TypeMeta{APIVersion: version, Kind: kind}
	if as == YAML {
		return yaml.Marshal(&state)
	}
	return json.Marshal(&state)
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
