package api

import (
	storagev1 "k8s.io/api/storage/v1"
	storagev1alpha1 "k8s.io/api/storage/v1alpha1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
)

// volumeAttributesClass is attributes of volumes that can be changed.
func volumeAttributesClass() *Resource {
	return &Resource{
		Name: "volumeattributesclasses", Singular: "volumeattributesclass", Kind: "VolumeAttributesClass",
		ShortNames: []string{"vac"},
		Versions: older(served(storagev1.SchemeGroupVersion),
			alike[storagev1.VolumeAttributesClass, storagev1beta1.VolumeAttributesClass](storagev1beta1.SchemeGroupVersion),
			alike[storagev1.VolumeAttributesClass, storagev1alpha1.VolumeAttributesClass](storagev1alpha1.SchemeGroupVersion)),
		New:                 func() Object { return &storagev1.VolumeAttributesClass{} },
		Rows:                &Table{Columns: volumeAttributesClassColumns, Cells: volumeAttributesClassCells},
		Prefix:              "volumeattributesclasses",
		ValidateCreate:      rulesOf(volumeAttributesClassRules),
		ValidateUpdate:      changesOf(volumeAttributesClassChanges),
		ReturnDeletedObject: true,
	}
}
