package allocation

import (
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

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/kinds/core/service"
	"github.com/miniapiserver/miniapiserver/proto"
)

// PortsKey is the etcd key of the bitmap of allocated node ports. Allocated addresses are
// stored as objects of AddressResource. Both have the format of kube-apiserver.
const PortsKey = "ranges/servicenodeports"

// ServiceResource returns the resource whose objects have the addresses and ports. Its etcd has PortsKey.
func ServiceResource() schema.GroupResource { return corev1.Resource("services") }

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
func AddressRangesOf(obj api.Object) (ranges []netip.Prefix, ready bool) {
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
func AllocatedIPAddress(ip netip.Addr, resource string, owner api.Object) api.Object {
	return &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: ip.String(), Labels: map[string]string{
			"ipaddress.kubernetes.io/ip-family": service.FamilyOf(ip),
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
func IPClaimOf(obj api.Object) (c IPClaim, ok bool) {
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
func EncodePorts(as api.Encoding, first, last int32, used *big.Int) ([]byte, error) {
	state := corev1.RangeAllocation{Range: fmt.Sprintf("%d-%d", first, last), Data: used.Bytes()}
	const version, kind = "v1", "RangeAllocation"
	if as == api.Protobuf {
		return proto.Append(nil, version, kind, &state)
	}
	state.TypeMeta = metav1.TypeMeta{APIVersion: version, Kind: kind}
	if as == api.YAML {
		return yaml.Marshal(&state)
	}
	return json.Marshal(&state)
}
