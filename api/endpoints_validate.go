package api

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	netutils "k8s.io/utils/net"
)

func endpointsRules(at *place, e *corev1.Endpoints) {
	subsetListRules(at.of("subsets"), e.Subsets, nil)
}

// endpointsChanges look at addresses only when they change, since older ones were
// written in forms that are not taken any more.
func endpointsChanges(at *place, is, was *corev1.Endpoints) {
	if equality.Semantic.DeepEqual(is.Subsets, was.Subsets) {
		return
	}
	var known []string
	for i := range was.Subsets {
		for _, list := range [][]corev1.EndpointAddress{was.Subsets[i].Addresses, was.Subsets[i].NotReadyAddresses} {
			for j := range list {
				known = append(known, list[j].IP)
			}
		}
	}
	subsetListRules(at.of("subsets"), is.Subsets, known)
}

func subsetListRules(at *place, list []corev1.EndpointSubset, known []string) {
	for i := range list {
		s, at := &list[i], at.item(i)
		if len(s.Addresses)+len(s.NotReadyAddresses) == 0 {
			at.required("must specify `addresses` or `notReadyAddresses`")
		}
		for j := range s.Addresses {
			endpointAddressRules(at.of("addresses").item(j), &s.Addresses[j], known)
		}
		for j := range s.NotReadyAddresses {
			endpointAddressRules(at.of("notReadyAddresses").item(j), &s.NotReadyAddresses[j], known)
		}
		for j := range s.Ports {
			endpointPortRules(at.of("ports").item(j), &s.Ports[j], len(s.Ports) > 1)
		}
	}
}

func endpointAddressRules(at *place, a *corev1.EndpointAddress, known []string) {
	knownAddress(at.of("ip"), a.IP, known)
	optional(at.of("hostname"), a.Hostname, dnsLabel)
	if a.NodeName != nil {
		format(at.of("nodeName"), *a.NodeName, dnsSubdomain)
	}
	ordinaryAddress(at.of("ip"), a.IP)
}

func endpointPortRules(at *place, p *corev1.EndpointPort, named bool) {
	if p.Name != "" {
		format(at.of("name"), p.Name, dnsLabel)
	} else if named {
		at.of("name").required("")
	}
	portNumber(at.of("port"), p.Port)
	protocol(at.of("protocol"), p.Protocol)
	if p.AppProtocol != nil {
		format(at.of("appProtocol"), *p.AppProtocol, qualifiedName)
	}
}

// Bounds of a slice.
const (
	maxTopologyLabels = 16
	maxSliceAddresses = 100
	maxSlicePorts     = 20000
	maxSliceEndpoints = 1000
	maxHints          = 8
)

func endpointSliceRules(at *place, s *discoveryv1.EndpointSlice) { sliceRules(at, s, nil) }

func endpointSliceChanges(at *place, is, was *discoveryv1.EndpointSlice) {
	sliceRules(at, is, was)
	fixed(at.of("addressType"), is.AddressType, was.AddressType)
}

// sliceRules are for a slice. Endpoints that did not change are not checked: older
// ones were written in forms that are not accepted any more.
func sliceRules(at *place, s, was *discoveryv1.EndpointSlice) {
	enum(at.of("addressType"), s.AddressType, discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6)
	slicePortRules(at.of("ports"), s.Ports)
	faults := collect(at.of("endpoints"), func(at *place) {
		if n := len(s.Endpoints); n > maxSliceEndpoints {
			at.tooMany(n, maxSliceEndpoints)
			return
		}
		for i := range s.Endpoints {
			endpointRules(at.item(i), &s.Endpoints[i], s.AddressType)
		}
	})
	if len(faults) > 0 && (was == nil || !equality.Semantic.DeepEqual(s.Endpoints, was.Endpoints)) {
		at.add(faults...)
	}
}

func endpointRules(at *place, e *discoveryv1.Endpoint, family discoveryv1.AddressType) {
	addresses := at.of("addresses")
	switch n := len(e.Addresses); {
	case n == 0:
		addresses.required("must contain at least 1 address")
	case n > maxSliceAddresses:
		addresses.tooMany(n, maxSliceAddresses)
	}
	for i, a := range e.Addresses {
		sliceAddress(addresses, i, a, family)
	}
	if e.NodeName != nil {
		format(at.of("nodeName"), *e.NodeName, dnsSubdomain)
	}
	topology := at.of("deprecatedTopology")
	if n := len(e.DeprecatedTopology); n > maxTopologyLabels {
		topology.tooMany(n, maxTopologyLabels)
	}
	labelRules(topology, e.DeprecatedTopology)
	if e.Hostname != nil {
		format(at.of("hostname"), *e.Hostname, dnsLabel)
	}
	if e.Hints != nil {
		hintRules(at.of("hints"), e.Hints)
	}
}

// sliceAddress checks one of a list of addresses. The wrong family is put down to
// the list.
func sliceAddress(list *place, i int, a string, family discoveryv1.AddressType) {
	at := list.item(i)
	if family == discoveryv1.AddressTypeFQDN {
		at.add(utilvalidation.IsFullyQualifiedDomainName(at.path(), a)...)
		return
	}
	switch family {
	case discoveryv1.AddressTypeIPv4: // as written by older servers, with leading zeros
		if !knownAddress(at, a, nil) {
			return
		}
	case discoveryv1.AddressTypeIPv6:
		if faults := utilvalidation.IsValidIP(at.path(), a); len(faults) > 0 {
			at.add(faults...)
			return
		}
	default:
		return
	}
	if netutils.IsIPv6String(a) != (family == discoveryv1.AddressTypeIPv6) {
		list.invalid(a, "must be an "+string(family)+" address")
	}
	ordinaryAddress(at, a)
}

func hintRules(at *place, h *discoveryv1.EndpointHints) {
	var zones, nodes unique[string]
	if n := len(h.ForZones); n > maxHints {
		at.of("forZones").tooMany(n, maxHints)
		return
	}
	for i, z := range h.ForZones {
		zone := at.of("forZones").item(i).of("name")
		zones.add(zone, z.Name)
		for _, fault := range labelValue(z.Name) {
			zone.invalid(z.Name, fault)
		}
	}
	if n := len(h.ForNodes); n > maxHints {
		at.of("forNodes").tooMany(n, maxHints)
		return
	}
	for i, n := range h.ForNodes {
		node := at.of("forNodes").item(i).of("name")
		nodes.add(node, n.Name)
		format(node, n.Name, dnsSubdomain)
	}
}

func slicePortRules(at *place, list []discoveryv1.EndpointPort) {
	if n := len(list); n > maxSlicePorts {
		at.tooMany(n, maxSlicePorts)
		return
	}
	var names unique[string]
	for i := range list {
		p, at := &list[i], at.item(i)
		name := ""
		if p.Name != nil {
			name = *p.Name
		}
		optional(at.of("name"), name, dnsLabel)
		names.add(at.of("name"), name)
		if p.Protocol == nil {
			at.of("protocol").required("")
		} else {
			oneOf(at.of("protocol"), *p.Protocol, corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)
		}
		if p.AppProtocol != nil {
			format(at.of("appProtocol"), *p.AppProtocol, qualifiedName)
		}
	}
}
