package api

import corev1 "k8s.io/api/core/v1"

// endpoints is the older form of the addresses behind a Service.
func endpoints() *Resource {
	return &Resource{
		Name: "endpoints", Singular: "endpoints", Kind: "Endpoints",
		ShortNames:          []string{"ep"},
		Namespaced:          true,
		Versions:            served(corev1.SchemeGroupVersion),
		New:                 func() Object { return &corev1.Endpoints{} },
		ObjectWarnings:      endpointsWarnings,
		Rows:                &Table{Columns: endpointsColumns, Cells: endpointsCells},
		Prefix:              "services/endpoints",
		Validate:            rulesOf(endpointsRules),
		ValidateUpdate:      changesOf(endpointsChanges),
		WholeUpdate:         true,
		MetadataRevalidated: true,
		AllowCreateOnUpdate: true,
		Default:             defaultEndpoints,
		Deprecated:          "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
	}
}

func defaultEndpoints(obj Object) {
	subsets := obj.(*corev1.Endpoints).Subsets
	for i := range subsets {
		for j := range subsets[i].Ports {
			if p := &subsets[i].Ports[j]; p.Protocol == "" {
				p.Protocol = corev1.ProtocolTCP
			}
		}
	}
}
