package api

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// endpointSlice is some of the addresses behind a Service.
func endpointSlice() *Resource {
	return &Resource{
		Name: "endpointslices", Singular: "endpointslice", Kind: "EndpointSlice",
		Namespaced:          true,
		Versions:            older(served(discoveryv1.SchemeGroupVersion), endpointSliceV1beta1()),
		New:                 func() Object { return &discoveryv1.EndpointSlice{} },
		Rows:                &Table{Columns: endpointSliceColumns, Cells: endpointSliceCells},
		Prefix:              "endpointslices",
		Validate:            rulesOf(endpointSliceRules),
		ValidateUpdate:      changesOf(endpointSliceChanges),
		WholeUpdate:         true,
		MetadataRevalidated: true,
		Generation:          true,
		Default:             defaultEndpointSlice,
		PrepareCreate:       func(obj Object) { dropTopology(obj.(*discoveryv1.EndpointSlice), nil) },
		PrepareUpdate: func(obj, old Object) {
			dropTopology(obj.(*discoveryv1.EndpointSlice), old.(*discoveryv1.EndpointSlice))
		},
		ObjectWarnings: endpointSliceWarnings,
		// Labels say which Service it belongs to, so they count as well.
		Changed: func(obj, old Object) bool {
			return bodyChanged(obj, old) || !equality.Semantic.DeepEqual(obj.GetLabels(), old.GetLabels())
		},
	}
}

func defaultEndpointSlice(obj Object) {
	ports := obj.(*discoveryv1.EndpointSlice).Ports
	for i := range ports {
		setDefault(&ports[i].Name, "")
		setDefault(&ports[i].Protocol, corev1.ProtocolTCP)
	}
}

// dropTopology removes deprecatedTopology, which discovery.k8s.io/v1 only shows, from
// changed endpoints. The name of a node that stands there in the stored slice is kept as
// nodeName.
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
		if node := e.DeprecatedTopology[corev1.LabelHostname]; e.NodeName == nil && nodes[node] && len(dnsSubdomain(node)) == 0 {
			e.NodeName = &node
		}
		e.DeprecatedTopology = nil
	}
}
