package api

import corev1 "k8s.io/api/core/v1"

// persistentVolumeClaim is a request for storage.
func persistentVolumeClaim() *Resource {
	return &Resource{
		Name: "persistentvolumeclaims", Singular: "persistentvolumeclaim", Kind: "PersistentVolumeClaim",
		ShortNames:    []string{"pvc"},
		Namespaced:    true,
		Versions:      served(corev1.SchemeGroupVersion),
		New:           func() Object { return &corev1.PersistentVolumeClaim{} },
		Rows:          &Table{Columns: persistentVolumeClaimColumns, Cells: persistentVolumeClaimCells},
		Prefix:        "persistentvolumeclaims",
		PrepareCreate: func(obj Object) { prepareClaimSpec(&obj.(*corev1.PersistentVolumeClaim).Spec, nil) },
		PrepareUpdate: func(obj, old Object) {
			prepareClaimSpec(&obj.(*corev1.PersistentVolumeClaim).Spec, &old.(*corev1.PersistentVolumeClaim).Spec)
		},
		ValidateCreate:       rulesOf(claimRules),
		ValidateUpdate:       changesOf(claimChanges),
		ValidateStatusUpdate: changesOf(claimStatusRules),
		ObjectWarnings:       claimWarnings,
		MetadataRevalidated:  true,
		ReturnDeletedObject:  true,
		HasStatus:            true,
		// The phase of a new claim is not stored, but a default of what is read.
		Default: func(obj Object) { defaultClaim(obj.(*corev1.PersistentVolumeClaim)) },
	}
}

func defaultClaim(c *corev1.PersistentVolumeClaim) {
	if c.Status.Phase == "" {
		c.Status.Phase = corev1.ClaimPending
	}
	setDefault(&c.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	wholeMillis(c.Spec.Resources.Requests)
	wholeMillis(c.Spec.Resources.Limits)
	wholeMillis(c.Status.Capacity)
	wholeMillis(c.Status.AllocatedResources)
}
