package plugins

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/miniapiserver/miniapiserver/admission"
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
func defaultStorageClass(o *admission.Objects) admission.Plugin {
	classes := storageClassesOf(o)
	return admission.Plugin{
		Handles: admission.HandlesFor(admission.CoreResources("persistentvolumeclaims"), api.VerbCreate),
		Mutate: func(ctx context.Context, a *registry.Attributes) error {
			claim := a.Object.(*corev1.PersistentVolumeClaim)
			if _, named := claim.Annotations[corev1.BetaStorageClassAnnotation]; named || claim.Spec.StorageClassName != nil {
				return nil
			}
			all, err := classes.List(ctx, "")
			if err != nil {
				return admission.Forbidden(a, err)
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

// storageClassesOf returns a reader of storage classes.
func storageClassesOf(o *admission.Objects) *admission.Reader[*storagev1.StorageClass] {
	return admission.NewReader[*storagev1.StorageClass](o, storagev1.Resource("storageclasses"))
}
