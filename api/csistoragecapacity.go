package api

import (
	storagev1 "k8s.io/api/storage/v1"
	storagev1alpha1 "k8s.io/api/storage/v1alpha1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
)

// csiStorageCapacity is how much room a storage class has in a part of the cluster.
func csiStorageCapacity() *Resource {
	return &Resource{
		Name: "csistoragecapacities", Singular: "csistoragecapacity", Kind: "CSIStorageCapacity",
		Namespaced: true,
		Versions: older(served(storagev1.SchemeGroupVersion),
			alike[storagev1.CSIStorageCapacity, storagev1beta1.CSIStorageCapacity](storagev1beta1.SchemeGroupVersion),
			alike[storagev1.CSIStorageCapacity, storagev1alpha1.CSIStorageCapacity](storagev1alpha1.SchemeGroupVersion)),
		New:                    func() Object { return &storagev1.CSIStorageCapacity{} },
		ObjectWarnings:         capacityWarnings,
		Prefix:                 "csistoragecapacities",
		ValidateCreate:         rulesOf(csiStorageCapacityRules),
		ValidateUpdate:         changesOf(csiStorageCapacityChanges),
		RequireResourceVersion: true,
	}
}
