package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// persistentVolumeClaimResize lets a claim grow only where its class says that
// volumes can.
func persistentVolumeClaimResize(o *Objects) Plugin {
	classes := storageClassesOf(o)
	growing := func(ctx context.Context, claim, old *corev1.PersistentVolumeClaim) bool {
		name := classOfClaim(claim)
		if name == "" || name != classOfClaim(old) {
			return false
		}
		class, err := classes.get(ctx, "", name)
		return err == nil && class.AllowVolumeExpansion != nil && *class.AllowVolumeExpansion
	}
	return Plugin{
		Handles: on(core("persistentvolumeclaims"), api.VerbUpdate),
		Validate: func(ctx context.Context, a *registry.Attributes) error {
			claim, old := a.Object.(*corev1.PersistentVolumeClaim), a.Old.(*corev1.PersistentVolumeClaim)
			size, was := claim.Spec.Resources.Requests[corev1.ResourceStorage], old.Spec.Resources.Requests[corev1.ResourceStorage]
			switch {
			case size.Cmp(was) <= 0:
				return nil
			case old.Status.Phase != corev1.ClaimBound:
				return forbid(a, "Only bound persistent volume claims can be expanded")
			case !growing(ctx, claim, old):
				return forbid(a, "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize")
			}
			return nil
		},
	}
}

// classOfClaim is the name of a claim's class, wherever it is written; empty
// when it has none.
func classOfClaim(claim *corev1.PersistentVolumeClaim) string {
	if name, ok := claim.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return name
	}
	if claim.Spec.StorageClassName != nil {
		return *claim.Spec.StorageClassName
	}
	return ""
}
