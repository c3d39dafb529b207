package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	storagev1alpha1 "k8s.io/api/storage/v1alpha1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
)

// CSIStorageCapacity describes the kind CSIStorageCapacity, which publishes the capacity of
// a storage class in a part of the cluster.
func CSIStorageCapacity() *api.Resource {
	return api.NewResource(api.Kind[*storagev1.CSIStorageCapacity]{
		Names: api.Names{Name: "csistoragecapacities", Singular: "csistoragecapacity", Kind: "CSIStorageCapacity", Namespaced: true},
		Versions: api.WithOlderVersions(api.Served(storagev1.SchemeGroupVersion),
			api.SameFields[storagev1.CSIStorageCapacity, storagev1beta1.CSIStorageCapacity](storagev1beta1.SchemeGroupVersion),
			api.SameFields[storagev1.CSIStorageCapacity, storagev1alpha1.CSIStorageCapacity](storagev1alpha1.SchemeGroupVersion)),
		Storage:                api.Storage{Prefix: "csistoragecapacities"},
		RequireResourceVersion: true,
		Checks: api.Checks(
			api.Metadata,
			api.Changes(csiStorageCapacityChanges),
			api.RevalidatedMetadata,
			api.OnCreate(api.Rules(csiStorageCapacityRules)),
			api.Declared,
			api.Warn(capacityWarnings),
		),
	})
}
