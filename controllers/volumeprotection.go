package controllers

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/admission/plugins"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
)

const volumeProtectionName = "persistentvolume-protection-controller"

// newVolumeProtection returns the controller that protects volumes that are bound to claims.
func newVolumeProtection(c Config) Controller {
	volumes := c.Served(corev1.SchemeGroupVersion, "persistentvolumes")
	if volumes == nil {
		return nil
	}
	p := &finalizerProtection{Config: c, client: reconcile.NewClient(c.Handler, "pv-protection-controller"),
		resource: volumes, finalizer: plugins.PVProtection}
	p.inUse = func(_ context.Context, obj api.Object) (bool, error) {
		return obj.(*corev1.PersistentVolume).Status.Phase == corev1.VolumeBound, nil
	}
	return &reconcile.Loop[objectName]{BaseConfig: c.BaseConfig, Name: volumeProtectionName, Sync: p.sync,
		Sources: []reconcile.Source[objectName]{{Resource: volumes, Keys: objectKey}}}
}
