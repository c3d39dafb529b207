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
		ObjectWarnings:      endpointSliceWarnings,
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
