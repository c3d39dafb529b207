package api

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClaimOfVolume is the field by which the volumes of a claim, "namespace/name",
// are found. Clients cannot select by it.
const ClaimOfVolume = "spec.claimRef"

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
		Indexed:             []string{ClaimOfVolume},
		Fields: func(obj Object) map[string]string {
			claim := ""
			if ref := obj.(*corev1.PersistentVolume).Spec.ClaimRef; ref != nil {
				claim = ref.Namespace + "/" + ref.Name
			}
			return map[string]string{ClaimOfVolume: claim}
		},
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
