package controllers

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

const classProtectionName = "volumeattributesclass-protection-controller"

// newClassProtection keeps attribute classes that claims or volumes have, or are
// on their way to.
func newClassProtection(c Config) Controller {
	classes := c.served(storagev1.SchemeGroupVersion, "volumeattributesclasses")
	claims, volumes := c.served(corev1.SchemeGroupVersion, "persistentvolumeclaims"), c.served(corev1.SchemeGroupVersion, "persistentvolumes")
	if classes == nil || claims == nil || volumes == nil {
		return nil
	}
	p := &protection{Config: c, client: newClient(c.Handler, "volumeattributesclass-protection-controller"), resource: classes, finalizer: admission.VACProtection}
	p.used = func(ctx context.Context, obj api.Object) (bool, error) {
		for _, res := range []*api.Resource{claims, volumes} {
			items, err := c.items(ctx, res, "", registry.Selection{})
			if err != nil {
				return true, err
			}
			for _, item := range items {
				user, err := item.Object()
				if err != nil || slices.Contains(classesOf(user), obj.GetName()) {
					return true, err
				}
			}
		}
		return false, nil
	}
	// Who has a class is known of its last state only; a class that is to go is
	// looked at whenever anything changes that could have had it.
	going := func(change) (keys []objectName) {
		for _, key := range all(c, classes, "") {
			if obj, err := c.live(context.Background(), classes, "", key.name); err == nil && obj != nil && obj.GetDeletionTimestamp() != nil {
				keys = append(keys, key)
			}
		}
		return keys
	}
	return &loop[objectName]{Config: c, name: classProtectionName, sync: p.sync, sources: []source[objectName]{
		{resource: classes, keys: keyOf}, {resource: claims, keys: going}, {resource: volumes, keys: going},
	}}
}

func classesOf(obj api.Object) (names []string) {
	note := func(name *string) {
		if name != nil {
			names = append(names, *name)
		}
	}
	switch o := obj.(type) {
	case *corev1.PersistentVolume:
		note(o.Spec.VolumeAttributesClassName)
	case *corev1.PersistentVolumeClaim:
		note(o.Spec.VolumeAttributesClassName)
		note(o.Status.CurrentVolumeAttributesClassName)
		if m := o.Status.ModifyVolumeStatus; m != nil {
			note(&m.TargetVolumeAttributesClassName)
		}
	}
	return names
}
