package api

import corev1 "k8s.io/api/core/v1"

// persistentVolumeClaim is a request for storage.
func persistentVolumeClaim() *Resource {
	return &Resource{
		Name: "persistentvolumeclaims", Singular: "persistentvolumeclaim", Kind: "PersistentVolumeClaim",
		ShortNames:          []string{"pvc"},
		Namespaced:          true,
		Versions:            served(corev1.SchemeGroupVersion),
		New:                 func() Object { return &corev1.PersistentVolumeClaim{} },
		Prefix:              "persistentvolumeclaims",
		MetadataRevalidated: true,
		ReturnDeletedObject: true,
		HasStatus:           true,
		PrepareCreate: func(obj Object) {
			obj.(*corev1.PersistentVolumeClaim).Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
		},
		Default: func(obj Object) { defaultClaim(obj.(*corev1.PersistentVolumeClaim)) },
	}
}

func defaultClaim(c *corev1.PersistentVolumeClaim) {
	if c.Status.Phase == "" {
		c.Status.Phase = corev1.ClaimPending
	}
	setDefault(&c.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
}
