package discovery

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/kinds/core/service"
)

func endpointSliceRules(at *validation.Path, s *discoveryv1.EndpointSlice) {
	sliceRules(at, s, nil)
}

func endpointSliceChanges(at *validation.Path, obj, old *discoveryv1.EndpointSlice) {
	sliceRules(at, obj, old)
	validation.Immutable(at.Child("addressType"), obj.AddressType, old.AddressType)
}

// Limits of an EndpointSlice.
const (
	maxTopologyLabels = 16
	maxSliceAddresses = 100
	maxSlicePorts     = 20000
	maxSliceEndpoints = 1000
	maxHints          = 8
)

// sliceRules validates a new slice (old is nil) or an update. It does not validate unchanged
// endpoints, because stored ones may have formats that are no longer valid.
func sliceRules(at *validation.Path, s, old *discoveryv1.EndpointSlice) {
	validation.Enum(at.Child("addressType"), s.AddressType, discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4,
		discoveryv1.AddressTypeIPv6)
	slicePortRules(at.Child("ports"), s.Ports)
	faults := validation.Collect(at.Child("endpoints"), func(at *validation.Path) {
		if n := len(s.Endpoints); n > maxSliceEndpoints {
			at.TooMany(n, maxSliceEndpoints)
			return
		}
		for i := range s.Endpoints {
			endpointRules(at.Index(i), &s.Endpoints[i], s.AddressType)
		}
	})
	if len(faults) > 0 && (old == nil || !equality.Semantic.DeepEqual(s.Endpoints, old.Endpoints)) {
		at.Add(faults...)
	}
}

func endpointRules(at *validation.Path, e *discoveryv1.Endpoint, family discoveryv1.AddressType) {
	addresses := at.Child("addresses")
	switch n := len(e.Addresses); {
	case n == 0:
		addresses.Required("must contain at least 1 address")
	case n > maxSliceAddresses:
		addresses.TooMany(n, maxSliceAddresses)
	}
	for i, a := range e.Addresses {
		sliceAddress(addresses, i, a, family)
	}
	if e.NodeName != nil {
		validation.Format(at.Child("nodeName"), *e.NodeName, validation.DNSSubdomain)
	}
	topology := at.Child("deprecatedTopology")
	if n := len(e.DeprecatedTopology); n > maxTopologyLabels {
		topology.TooMany(n, maxTopologyLabels)
	}
	validation.LabelRules(topology, e.DeprecatedTopology)
	if _, ok := e.DeprecatedTopology[corev1.LabelTopologyZone]; ok {
		at := topology.Key(corev1.LabelTopologyZone)
		at.Add(field.InternalError(at.ToField(), errors.New("reserved key was not removed in conversion")))
	}
	if e.Hostname != nil {
		validation.Format(at.Child("hostname"), *e.Hostname, validation.DNSLabel)
	}
	if e.Hints != nil {
		hintRules(at.Child("hints"), e.Hints)
	}
}

// sliceAddress validates an address of an endpoint. An address of the wrong family is an error
// of the list.
func sliceAddress(list *validation.Path, i int, a string, family discoveryv1.AddressType) {
	at := list.Index(i)
	if family == discoveryv1.AddressTypeFQDN {
		at.Add(utilvalidation.IsFullyQualifiedDomainName(at.ToField(), a)...)
		return
	}
	switch family {
	case discoveryv1.AddressTypeIPv4: // leading zeros are allowed
		if !validation.IPOrStored(at, a, nil) {
			return
		}
	case discoveryv1.AddressTypeIPv6:
		if faults := utilvalidation.IsValidIP(at.ToField(), a); len(faults) > 0 {
			at.Add(faults...)
			return
		}
	default:
		return
	}
	if netutils.IsIPv6String(a) != (family == discoveryv1.AddressTypeIPv6) {
		list.Invalid(a, "must be an "+string(family)+" address")
	}
	service.EndpointAddress(at, a)
}

func hintRules(at *validation.Path, h *discoveryv1.EndpointHints) {
	var zones, nodes validation.Unique[string]
	if n := len(h.ForZones); n > maxHints {
		at.Child("forZones").TooMany(n, maxHints)
		return
	}
	for i, z := range h.ForZones {
		zone := at.Child("forZones").Index(i).Child("name")
		zones.Add(zone, z.Name)
		for _, fault := range validation.LabelValue(z.Name) {
			zone.Invalid(z.Name, fault)
		}
	}
	if n := len(h.ForNodes); n > maxHints {
		at.Child("forNodes").TooMany(n, maxHints)
		return
	}
	for i, n := range h.ForNodes {
		node := at.Child("forNodes").Index(i).Child("name")
		nodes.Add(node, n.Name)
		validation.Format(node, n.Name, validation.DNSSubdomain)
	}
}

func slicePortRules(at *validation.Path, list []discoveryv1.EndpointPort) {
	if n := len(list); n > maxSlicePorts {
		at.TooMany(n, maxSlicePorts)
		return
	}
	var names validation.Unique[string]
	for i := range list {
		p, at := &list[i], at.Index(i)
		name := ""
		if p.Name != nil {
			name = *p.Name
		}
		validation.OptionalFormat(at.Child("name"), name, validation.DNSLabel)
		names.Add(at.Child("name"), name)
		if p.Protocol == nil {
			at.Child("protocol").Required("")
		} else {
			validation.OneOf(at.Child("protocol"), *p.Protocol, corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)
		}
		if p.AppProtocol != nil {
			validation.Format(at.Child("appProtocol"), *p.AppProtocol, validation.QualifiedName)
		}
	}
}
