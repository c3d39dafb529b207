package api

import (
	storagev1 "k8s.io/api/storage/v1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// csiDriver is what Kubernetes has to know of a storage driver.
func csiDriver() *Resource {
	return &Resource{
		Name: "csidrivers", Singular: "csidriver", Kind: "CSIDriver",
		Versions:               older(served(storagev1.SchemeGroupVersion), alike[storagev1.CSIDriver, storagev1beta1.CSIDriver](storagev1beta1.SchemeGroupVersion)),
		New:                    func() Object { return &storagev1.CSIDriver{} },
		Rows:                   &Table{Columns: csiDriverColumns, Cells: csiDriverCells},
		Prefix:                 "csidrivers",
		Default:                defaultCSIDriver,
		ValidateCreate:         rulesOf(csiDriverRules),
		ValidateUpdate:         changesOf(csiDriverChanges),
		ReturnDeletedObject:    true,
		RequireResourceVersion: true,
		// The generation is not set on create but counts changes later.
		PrepareUpdate: func(obj, old Object) {
			is, was := obj.(*storagev1.CSIDriver), old.(*storagev1.CSIDriver)
			if !equality.Semantic.DeepEqual(is.Spec, was.Spec) {
				is.Generation = was.Generation + 1
			}
		},
	}
}

func defaultCSIDriver(obj Object) {
	s := &obj.(*storagev1.CSIDriver).Spec
	setDefault(&s.AttachRequired, true)
	setDefault(&s.PodInfoOnMount, false)
	setDefault(&s.StorageCapacity, false)
	setDefault(&s.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	setDefault(&s.RequiresRepublish, false)
	setDefault(&s.SELinuxMount, false)
	if len(s.VolumeLifecycleModes) == 0 {
		s.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
}
