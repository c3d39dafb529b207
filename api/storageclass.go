package api

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
)

// storageClass is a way to provision volumes.
func storageClass() *Resource {
	return &Resource{
		Name: "storageclasses", Singular: "storageclass", Kind: "StorageClass",
		ShortNames: []string{"sc"},
		Versions: older(served(storagev1.SchemeGroupVersion),
			alike[storagev1.StorageClass, storagev1beta1.StorageClass](storagev1beta1.SchemeGroupVersion)),
		New:                 func() Object { return &storagev1.StorageClass{} },
		ObjectWarnings:      storageClassWarnings,
		Rows:                &Table{Columns: storageClassColumns, Cells: storageClassCells},
		Prefix:              "storageclasses",
		ValidateCreate:      rulesOf(storageClassRules),
		ValidateUpdate:      changesOf(storageClassChanges),
		Default:             defaultStorageClass,
		ReturnDeletedObject: true,
	}
}

func defaultStorageClass(obj Object) {
	c := obj.(*storagev1.StorageClass)
	setDefault(&c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	setDefault(&c.VolumeBindingMode, storagev1.VolumeBindingImmediate)
}
