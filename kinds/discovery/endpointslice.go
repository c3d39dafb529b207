package discovery

import (
	"cmp"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	discoveryv1beta1 "k8s.io/api/discovery/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// EndpointSlice describes the kind EndpointSlice: some of the endpoints of a Service.
func EndpointSlice(gates features.Gates) *api.Resource {
	return api.NewResource(api.Kind[*discoveryv1.EndpointSlice]{
		Names:    api.Names{Name: "endpointslices", Singular: "endpointslice", Kind: "EndpointSlice", Namespaced: true},
		Versions: api.WithOlderVersions(api.Served(discoveryv1.SchemeGroupVersion), endpointSliceV1beta1()),
		Default:  defaultEndpointSlice,
		Storage:  api.Storage{Prefix: "endpointslices"},
		Prepare:  api.PrepareChange(dropTopology),
		Checks: api.Checks(
			api.Metadata,
			api.RevalidatedMetadata,
			api.OnCreate(api.Rules(endpointSliceRules)),
			api.Changes(endpointSliceChanges),
			api.Declared,
			api.OnCreate(api.Warn(newEndpointSliceWarnings)),
			api.OnUpdate(api.Warn(endpointSliceWarnings)),
		),
		// deprecatedTopology
		// Labels count as a change, because they name the Service.
		Generation: func(obj, old *discoveryv1.EndpointSlice) bool {
			return api.BodyChanged(obj, old) || !equality.Semantic.DeepEqual(obj.GetLabels(), old.GetLabels())
		},
		GenerationCountsDropped: true,
		Table:                   api.Rows(endpointSliceRow),
	})
}

func defaultEndpointSlice(obj *discoveryv1.EndpointSlice) {
	ports := obj.Ports
	for i := range ports {
		api.SetDefault(&ports[i].Name, "")
		api.SetDefault(&ports[i].Protocol, corev1.ProtocolTCP)
	}
}

// dropTopology removes deprecatedTopology, which is read-only in discovery.k8s.io/v1, from
// changed endpoints. If the stored slice has the name of the node there, nodeName is set to
// it.
func dropTopology(s, old *discoveryv1.EndpointSlice) {
	nodes := map[string]bool{}
	if old != nil {
		if equality.Semantic.DeepEqual(s.Endpoints, old.Endpoints) {
			return
		}
		for i := range old.Endpoints {
			nodes[old.Endpoints[i].DeprecatedTopology[corev1.LabelHostname]] = true
		}
	}
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		if node := e.DeprecatedTopology[corev1.LabelHostname]; e.NodeName == nil && nodes[node] && len(validation.DNSSubdomain(node)) == 0 {
			e.NodeName = &node
		}
		e.DeprecatedTopology = nil
	}
}

func endpointSliceRow(row *table.Row, s *discoveryv1.EndpointSlice) {
	var ports, addresses []string
	for _, p := range s.Ports[:min(len(s.Ports), table.MaxListedInCell)] {
		switch {
		case p.Port != nil:
			ports = append(ports, strconv.Itoa(int(*p.Port)))
		case p.Name != nil:
			ports = append(ports, *p.Name)
		default:
			ports = append(ports, "*")
		}
	}
	total := 0
	for i := range s.Endpoints {
		for _, a := range s.Endpoints[i].Addresses {
			if total++; total <= table.MaxListedInCell {
				addresses = append(addresses, a)
			}
		}
	}
	row.Name(s.Name)
	row.Text("AddressType", ".addressType", string(s.AddressType))
	row.Text("Ports", ".ports", cmp.Or(table.JoinFirst(ports, len(s.Ports)), table.CellUnset))
	row.Text("Endpoints", ".endpoints", cmp.Or(table.JoinFirst(addresses, total), table.CellUnset))
	row.Age(s)
}

// endpointSliceV1beta1 returns v1beta1, in which the zone and node of an endpoint are in the
// map topology. In v1 they are fields, and deprecatedTopology has the rest of the map.
func endpointSliceV1beta1() api.Version {
	return api.ConvertedVersion(discoveryv1beta1.SchemeGroupVersion,
		func(hub *discoveryv1.EndpointSlice, old *discoveryv1beta1.EndpointSlice) {
			for i := range old.Endpoints {
				topologyToHub(&hub.Endpoints[i], old.Endpoints[i].Topology)
			}
		},
		func(old *discoveryv1beta1.EndpointSlice, hub *discoveryv1.EndpointSlice) {
			for i := range hub.Endpoints {
				old.Endpoints[i].Topology = topologyFromHub(&hub.Endpoints[i])
			}
		})
}

func topologyToHub(e *discoveryv1.Endpoint, topology map[string]string) {
	rest := maps.Clone(topology)
	if zone, ok := rest[corev1.LabelTopologyZone]; ok {
		e.Zone = &zone
		delete(rest, corev1.LabelTopologyZone)
	}
	// A host name that differs from the node name stays in the map.
	if host, ok := rest[corev1.LabelHostname]; ok && e.NodeName != nil && host == *e.NodeName {
		delete(rest, corev1.LabelHostname)
	}
	if len(rest) > 0 {
		e.DeprecatedTopology = rest
	}
}

func topologyFromHub(e *discoveryv1.Endpoint) map[string]string {
	topology := maps.Clone(e.DeprecatedTopology)
	if topology == nil {
		topology = map[string]string{}
	}
	if e.Zone != nil {
		topology[corev1.LabelTopologyZone] = *e.Zone
	}
	if _, ok := topology[corev1.LabelHostname]; !ok && e.NodeName != nil {
		topology[corev1.LabelHostname] = *e.NodeName
	}
	if len(topology) == 0 {
		return nil
	}
	return topology
}

// Warnings about valid values that have no effect.

func newEndpointSliceWarnings(slice *discoveryv1.EndpointSlice) []string {
	var warnings []string
	if slice.AddressType == discoveryv1.AddressTypeFQDN {
		warnings = append(warnings, "spec.addressType: FQDN endpoints are deprecated")
	}
	return append(warnings, endpointSliceWarnings(slice)...)
}

// endpointSliceWarnings returns none for the slices of controllers, which write addresses in their canonical form.
func endpointSliceWarnings(slice *discoveryv1.EndpointSlice) []string {
	switch slice.Labels[discoveryv1.LabelManagedBy] {
	case "endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io":
		return nil
	}
	if slice.AddressType == discoveryv1.AddressTypeFQDN {
		return nil
	}
	return validation.Warn(func(at *validation.Path) {
		for i := range slice.Endpoints {
			for j, ip := range slice.Endpoints[i].Addresses {
				validation.WarnIPForm(at.Child("endpoints").Index(i).Child("addresses").Index(j), ip)
			}
		}
	})
}
