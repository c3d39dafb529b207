package plugins

import (
	"context"
	"slices"

	storagev1 "k8s.io/api/storage/v1"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/registry"
)

// Finalizers that prevent deletion of storage objects while they are in use.
const (
	PVCProtection = "kubernetes.io/pvc-protection"
	PVProtection  = "kubernetes.io/pv-protection"
	VACProtection = "kubernetes.io/vac-protection"
)

// storageObjectInUseProtection adds the finalizer to new claims, volumes and attributes classes.
// Controllers remove it when the object is no longer in use.
func storageObjectInUseProtection(gates features.Gates) admission.Plugin {
	finalizers := map[string]string{
		"persistentvolumeclaims": PVCProtection,
		"persistentvolumes":      PVProtection,
	}
	if gates.Enabled(features.VolumeAttributesClass) {
		finalizers["volumeattributesclasses"] = VACProtection
	}
	return admission.Plugin{
		Handles: admission.HandlesFor(append(admission.CoreResources("persistentvolumeclaims", "persistentvolumes"),
			storagev1.Resource("volumeattributesclasses")), api.VerbCreate),
		Mutate: func(_ context.Context, a *registry.Attributes) error {
			f := finalizers[a.Resource.Name]
			if f != "" && !slices.Contains(a.Object.GetFinalizers(), f) {
				a.Object.SetFinalizers(append(a.Object.GetFinalizers(), f))
			}
			return nil
		},
	}
}
