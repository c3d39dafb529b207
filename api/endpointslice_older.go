package api

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	discoveryv1beta1 "k8s.io/api/discovery/v1beta1"
)

// endpointSliceV1beta1 has a map of where an endpoint is. In v1 the zone and the
// node have fields, and the map has what is left.
func endpointSliceV1beta1() Version {
	return unlike(discoveryv1beta1.SchemeGroupVersion,
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
	// A host that is not the node is kept apart from it.
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
