package api

import (
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// endpointSlice is some of the addresses behind a Service.
func endpointSlice() *Resource {
	return &Resource{
		Name: "endpointslices", Singular: "endpointslice", Kind: "EndpointSlice",
		Namespaced: true,
		Versions:   served(discoveryv1.SchemeGroupVersion),
		New:        func() Object { return &discoveryv1.EndpointSlice{} },
		Prefix:     "endpointslices",
		Generation: true,
		// Labels say which Service it belongs to, so they count as well.
		Changed: func(obj, old Object) bool {
			return bodyChanged(obj, old) || !equality.Semantic.DeepEqual(obj.GetLabels(), old.GetLabels())
		},
	}
}
