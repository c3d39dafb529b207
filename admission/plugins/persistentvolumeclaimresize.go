package plugins

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// persistentVolumeClaimResize rejects the expansion of claims whose storage class does not allow
// it.
func persistentVolumeClaimResize(o *admission.Objects) admission.Plugin {
	classes := storageClassesOf(o)
	isExpandable := func(ctx context.Context, claim, old *corev1.PersistentVolumeClaim) bool {
		name := classOfClaim(claim)
		if name == "" || name != classOfClaim(old) {
			return false
		}
		class, err := classes.Get(ctx, "", name)
		return err == nil && class.AllowVolumeExpansion != nil && *class.AllowVolumeExpansion
	}
	return admission.Plugin{
		Handles: admission.HandlesFor(admission.CoreResources("persistentvolumeclaims"), api.VerbUpdate),
		Validate: func(ctx context.Context, a *registry.Attributes) error {
			claim, old := a.Object.(*corev1.PersistentVolumeClaim), a.Old.(*corev1.PersistentVolumeClaim)
			size, was := claim.Spec.Resources.Requests[corev1.ResourceStorage], old.Spec.Resources.Requests[corev1.ResourceStorage]
			switch {
			case size.Cmp(was) <= 0:
				return nil
			case old.Status.Phase != corev1.ClaimBound:
				return admission.Forbiddenf(a, "Only bound persistent volume claims can be expanded")
			case !isExpandable(ctx, claim, old):
				return admission.Forbiddenf(a,
					"only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize")
			}
			return nil
		},
	}
}

// classOfClaim returns the storage class of a claim, or "" if it has none. The annotation takes
// precedence over the field.
func classOfClaim(claim *corev1.PersistentVolumeClaim) string {
	if name, ok := claim.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return name
	}
	if claim.Spec.StorageClassName != nil {
		return *claim.Spec.StorageClassName
	}
	return ""
}
