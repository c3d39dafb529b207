package api

import (
	"context"
	"fmt"
	"math/big"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/proto"
)

// Allocator hands out what no two objects may have: service addresses and node
// ports. What it hands out is given back by itself when the write that it was
// for fails, and what is freed is only free once the write is done.
type Allocator interface {
	// Families are the address families that there are addresses of, the
	// preferred one first: "IPv4", "IPv6".
	Families() []string
	// TakeIP takes an address for owner: the one asked for or, if that is not
	// valid, any of the family.
	TakeIP(ctx context.Context, family string, asked netip.Addr, owner Object) (netip.Addr, error)
	// FreeIP gives an address back that owner had.
	FreeIP(ip netip.Addr, owner Object)
	// TakePort takes the node port asked for or, if that is 0, any.
	TakePort(ctx context.Context, asked int32) (int32, error)
	// FreePort gives a node port back.
	FreePort(port int32)
}

// The state of allocation is stored, in the forms that kube-apiserver stores: an
// address is taken when there is an object of its name in AddressResource, and
// a port when its bit is set in the value under PortsKey.
const PortsKey = "ranges/servicenodeports"

// AddressManager is who manages the objects of AddressResource that say whose
// an address is.
const AddressManager = "ipallocator.k8s.io"

// AddressResource is where taken addresses are.
func AddressResource() schema.GroupResource {
	return schema.GroupResource{Group: networkingv1.GroupName, Resource: "ipaddresses"}
}

// TakenAddress is the object that says that owner, of a resource, has ip.
func TakenAddress(ip netip.Addr, resource string, owner Object) Object {
	return &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: ip.String(), Labels: map[string]string{
			"ipaddress.kubernetes.io/ip-family": familyOf(ip),
			networkingv1.LabelManagedBy:         AddressManager,
		}},
		Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{
			Resource: resource, Namespace: owner.GetNamespace(), Name: owner.GetName()}},
	}
}

// Claim is what an object of AddressResource says: whose an address is.
type Claim struct {
	IP                               netip.Addr
	Group, Resource, Namespace, Name string
}

// ClaimOf reads an object that TakenAddress made, here or in a server of the same
// kind; ok is false for all others.
func ClaimOf(obj Object) (c Claim, ok bool) {
	taken, ok := obj.(*networkingv1.IPAddress)
	if !ok || taken.Labels[networkingv1.LabelManagedBy] != AddressManager {
		return c, false
	}
	ip, err := netip.ParseAddr(taken.Name)
	if err != nil {
		return c, false
	}
	c.IP = ip
	if ref := taken.Spec.ParentRef; ref != nil {
		c.Group, c.Resource, c.Namespace, c.Name = ref.Group, ref.Resource, ref.Namespace, ref.Name
	}
	return c, true
}

// DecodePorts reads which ports are taken: bit n is the port n above the first.
// An empty value means none.
func DecodePorts(value []byte) (*big.Int, error) {
	var state corev1.RangeAllocation
	if len(value) > 0 {
		e, err := proto.Decode(value)
		if err == nil {
			err = state.Unmarshal(e.Raw)
		}
		if err != nil {
			return nil, fmt.Errorf("stored node ports: %w", err)
		}
	}
	return new(big.Int).SetBytes(state.Data), nil
}

// EncodePorts is the value that DecodePorts reads.
func EncodePorts(first, last int32, used *big.Int) ([]byte, error) {
	return proto.Append(nil, "v1", "RangeAllocation", &corev1.RangeAllocation{Range: fmt.Sprintf("%d-%d", first, last), Data: used.Bytes()})
}
