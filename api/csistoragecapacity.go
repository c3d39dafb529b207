package api

import (
	storagev1 "k8s.io/api/storage/v1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
)

// csiStorageCapacity is how much room a storage class has in a part of the cluster.
func csiStorageCapacity() *Resource {
	return &Resource{
		Name: "csistoragecapacities", Singular: "csistoragecapacity", Kind: "CSIStorageCapacity",
		Namespaced:             true,
		Versions:               readable(served(storagev1.SchemeGroupVersion), storagev1beta1.SchemeGroupVersion),
		New:                    func() Object { return &storagev1.CSIStorageCapacity{} },
		Prefix:                 "csistoragecapacities",
		ValidateCreate:         rulesOf(csiStorageCapacityRules),
		ValidateUpdate:         changesOf(csiStorageCapacityChanges),
		RequireResourceVersion: true,
	}
}
