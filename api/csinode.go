package api

import (
	storagev1 "k8s.io/api/storage/v1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
)

// csiNode is what CSI drivers know of a node.
func csiNode() *Resource {
	return &Resource{
		Name: "csinodes", Singular: "csinode", Kind: "CSINode",
		Versions:               readable(served(storagev1.SchemeGroupVersion), storagev1beta1.SchemeGroupVersion),
		New:                    func() Object { return &storagev1.CSINode{} },
		Prefix:                 "csinodes",
		ReturnDeletedObject:    true,
		RequireResourceVersion: true,
	}
}
