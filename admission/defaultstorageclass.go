package admission

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// Annotations that mark the default storage class; the second is the deprecated one.
const (
	defaultStorageAnnotation     = "storageclass.kubernetes.io/is-default-class"
	betaDefaultStorageAnnotation = "storageclass.beta.kubernetes.io/is-default-class"
)

// defaultStorageClass sets the default class, the newest one if there are several, on claims
// without a class.
func defaultStorageClass(o *Objects) Plugin {
	classes := storageClassesOf(o)
	return Plugin{
		Handles: handle(coreResources("persistentvolumeclaims"), api.VerbCreate),
		Mutate: func(ctx context.Context, a *registry.Attributes) error {
			claim := a.Object.(*corev1.PersistentVolumeClaim)
			if _, named := claim.Annotations[corev1.BetaStorageClassAnnotation]; named || claim.Spec.StorageClassName != nil {
				return nil
			}
			all, err := classes.list(ctx, "")
			if err != nil {
				return forbidden(a, err)
			}
			all = slices.DeleteFunc(all, func(c *storagev1.StorageClass) bool {
				return c.Annotations[defaultStorageAnnotation] != "true" && c.Annotations[betaDefaultStorageAnnotation] != "true"
			})
			if len(all) == 0 {
				return nil
			}
			newest := slices.MinFunc(all, func(a, b *storagev1.StorageClass) int { return newerFirst(a, b) })
			claim.Spec.StorageClassName = &newest.Name
			return nil
		},
	}
}

// newerFirst orders objects by descending creation time, then by name.
func newerFirst(a, b api.Object) int {
	at, bt := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	if at.Equal(&bt) {
		return strings.Compare(a.GetName(), b.GetName())
	}
	return bt.Compare(at.Time)
}
