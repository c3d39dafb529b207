package admission

import (
	"context"
	"slices"

	storagev1 "k8s.io/api/storage/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// Finalizers that keep what storage is used through until nobody uses it.
const (
	PVCProtection = "kubernetes.io/pvc-protection"
	PVProtection  = "kubernetes.io/pv-protection"
	VACProtection = "kubernetes.io/vac-protection"
)

// storageObjectInUseProtection gives new claims, volumes and attribute classes
// the finalizer that controllers take away when they are not used any more.
func storageObjectInUseProtection() Plugin {
	finalizers := map[string]string{
		"persistentvolumeclaims":  PVCProtection,
		"persistentvolumes":       PVProtection,
		"volumeattributesclasses": VACProtection,
	}
	return Plugin{
		Handles: on(append(core("persistentvolumeclaims", "persistentvolumes"), storagev1.Resource("volumeattributesclasses")), api.VerbCreate),
		Mutate: func(_ context.Context, a *registry.Attributes) error {
			f := finalizers[a.Resource.Name]
			if !slices.Contains(a.Object.GetFinalizers(), f) {
				a.Object.SetFinalizers(append(a.Object.GetFinalizers(), f))
			}
			return nil
		},
	}
}
