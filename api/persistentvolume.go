package api

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// persistentVolume is a piece of storage in the cluster. now is the clock that
// its changes of phase are stamped by.
func persistentVolume(now func() time.Time) *Resource {
	return &Resource{
		Name: "persistentvolumes", Singular: "persistentvolume", Kind: "PersistentVolume",
		ShortNames:          []string{"pv"},
		Versions:            served(corev1.SchemeGroupVersion),
		New:                 func() Object { return &corev1.PersistentVolume{} },
		Rows:                &Table{Columns: persistentVolumeColumns, Cells: persistentVolumeCells},
		Prefix:              "persistentvolumes",
		Default:             defaultPersistentVolume,
		ValidateCreate:      rulesOf(persistentVolumeRules),
		ValidateUpdate:      changesOf(persistentVolumeChanges),
		ObjectWarnings:      persistentVolumeWarnings,
		MetadataRevalidated: true,
		ReturnDeletedObject: true,
		HasStatus:           true,
		PrepareCreate: func(obj Object) {
			stamp := metav1.NewTime(now())
			obj.(*corev1.PersistentVolume).Status = corev1.PersistentVolumeStatus{
				Phase: corev1.VolumePending, LastPhaseTransitionTime: &stamp,
			}
		},
		PrepareStatusUpdate: func(obj, old Object) {
			is, was := &obj.(*corev1.PersistentVolume).Status, &old.(*corev1.PersistentVolume).Status
			if is.Phase == was.Phase {
				return
			}
			// A client that sets the time itself knows better.
			if is.LastPhaseTransitionTime == nil || is.LastPhaseTransitionTime.Equal(was.LastPhaseTransitionTime) {
				stamp := metav1.NewTime(now())
				is.LastPhaseTransitionTime = &stamp
			}
		},
	}
}
