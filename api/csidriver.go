package api

import (
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// csiDriver is what Kubernetes has to know of a storage driver.
func csiDriver() *Resource {
	return &Resource{
		Name: "csidrivers", Singular: "csidriver", Kind: "CSIDriver",
		Versions:               served(storagev1.SchemeGroupVersion),
		New:                    func() Object { return &storagev1.CSIDriver{} },
		Prefix:                 "csidrivers",
		ReturnDeletedObject:    true,
		RequireResourceVersion: true,
		// The generation is not set on create but counts some changes later.
		PrepareUpdate: func(obj, old Object) {
			is, was := obj.(*storagev1.CSIDriver), old.(*storagev1.CSIDriver)
			if !equality.Semantic.DeepEqual(is.Spec.TokenRequests, was.Spec.TokenRequests) ||
				!equality.Semantic.DeepEqual(is.Spec.RequiresRepublish, was.Spec.RequiresRepublish) ||
				!equality.Semantic.DeepEqual(is.Spec.SELinuxMount, was.Spec.SELinuxMount) {
				is.Generation = was.Generation + 1
			}
		},
	}
}
