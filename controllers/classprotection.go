package controllers

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/miniapiserver/miniapiserver/admission/plugins"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

const attributesClassProtectionName = "volumeattributesclass-protection-controller"

// newAttributesClassProtection returns the controller that protects volume attributes classes
// that claims or volumes have or are changing to.
func newAttributesClassProtection(c Config) Controller {
	classes := c.Served(storagev1.SchemeGroupVersion, "volumeattributesclasses")
	claims, volumes := c.Served(corev1.SchemeGroupVersion, "persistentvolumeclaims"), c.Served(corev1.SchemeGroupVersion, "persistentvolumes")
	if !c.Gates.Enabled(features.VolumeAttributesClass) || classes == nil || claims == nil || volumes == nil {
		return nil
	}
	p := &finalizerProtection{Config: c,
		client: reconcile.NewClient(c.Handler,
			"volumeattributesclass-protection-controller"), resource: classes, finalizer: plugins.VACProtection}
	p.inUse = usedBy(c, func(user, class api.Object) bool {
		return slices.Contains(attributesClassesOf(user), class.GetName())
	}, claims, volumes)
	// A change has only the last state of an object, which may have had a deleted class
	// before, so every change syncs all deleted classes.
	going := func(reconcile.Change) (keys []objectName) {
		for _, key := range cachedKeys(c, classes, "") {
			if obj, err := c.Live(context.Background(), classes, "", key.name); err == nil && obj != nil && obj.GetDeletionTimestamp() != nil {
				keys = append(keys, key)
			}
		}
		return keys
	}
	return &reconcile.Loop[objectName]{BaseConfig: c.BaseConfig, Name: attributesClassProtectionName, Sync: p.sync,
		Sources: []reconcile.Source[objectName]{
			{Resource: classes, Keys: objectKey}, {Resource: claims, Keys: going}, {Resource: volumes, Keys: going},
		}}
}

func attributesClassesOf(obj api.Object) (names []string) {
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
