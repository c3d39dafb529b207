package controllers

import (
	"context"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

const (
	claimProtectionName  = "persistentvolumeclaim-protection-controller"
	volumeProtectionName = "persistentvolume-protection-controller"
)

// protection keeps what is used: it lets an object that is being deleted go when
// nobody uses it, and sees to it that others have the finalizer by which it is
// kept.
type protection struct {
	Config
	client    *Client
	resource  *api.Resource
	finalizer string
	used      func(ctx context.Context, obj api.Object) (bool, error)
}

// newClaimProtection keeps claims that pods use.
func newClaimProtection(c Config) Controller {
	claims, pods := c.served(corev1.SchemeGroupVersion, "persistentvolumeclaims"), c.served(corev1.SchemeGroupVersion, "pods")
	if claims == nil || pods == nil {
		return nil
	}
	p := &protection{Config: c, client: newClient(c.Handler, "pvc-protection-controller"), resource: claims, finalizer: admission.PVCProtection}
	p.used = func(ctx context.Context, obj api.Object) (bool, error) {
		items, err := c.items(ctx, pods, obj.GetNamespace(), registry.Selection{})
		for _, item := range items {
			pod, err := item.Object()
			if err != nil || uses(pod.(*corev1.Pod), obj) {
				return true, err
			}
		}
		return false, err
	}
	return &loop[objectName]{Config: c, name: claimProtectionName, sync: p.sync, sources: []source[objectName]{
		{resource: claims, keys: keyOf},
		// A pod that comes changes nothing. Of one that went while nobody looked
		// only the name is known: then all claims of its namespace are looked at.
		{resource: pods, keys: func(ch change) []objectName {
			pod, known := ch.object.(*corev1.Pod)
			switch {
			case known && (ch.gone || over(pod)):
				return mentioned(pod)
			case !known:
				return all(c, claims, ch.object.GetNamespace())
			}
			return nil
		}},
	}}
}

// newVolumeProtection keeps volumes that are bound to claims.
func newVolumeProtection(c Config) Controller {
	volumes := c.served(corev1.SchemeGroupVersion, "persistentvolumes")
	if volumes == nil {
		return nil
	}
	p := &protection{Config: c, client: newClient(c.Handler, "pv-protection-controller"), resource: volumes, finalizer: admission.PVProtection}
	p.used = func(_ context.Context, obj api.Object) (bool, error) {
		return obj.(*corev1.PersistentVolume).Status.Phase == corev1.VolumeBound, nil
	}
	return &loop[objectName]{Config: c, name: volumeProtectionName, sync: p.sync,
		sources: []source[objectName]{{resource: volumes, keys: keyOf}}}
}

// all are the keys of a resource in a namespace, as the cache has them.
func all(c Config, res *api.Resource, namespace string) (keys []objectName) {
	t := registry.Target{Resource: res, Version: &res.Versions[0], Namespace: namespace}
	list, err := c.Registry.List(context.Background(), t, registry.ListOptions{Read: storage.Read{Match: storage.Any}})
	if err != nil {
		return nil // the store is closing
	}
	for _, item := range list.Items {
		keys = append(keys, objectName{namespace, item.Name()})
	}
	return keys
}

func keyOf(c change) []objectName {
	if c.gone {
		return nil
	}
	return []objectName{{c.object.GetNamespace(), c.object.GetName()}}
}

// uses tells whether a pod uses a claim. One that is on no node does not: no node
// will start it with a claim that is being deleted.
func uses(pod *corev1.Pod, claim api.Object) bool {
	if pod.Spec.NodeName == "" {
		return false
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		switch {
		case v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.GetName(),
			v.Ephemeral != nil && pod.Name+"-"+v.Name == claim.GetName() && metav1.IsControlledBy(claim, pod) && !over(pod):
			return true
		}
	}
	return false
}

// mentioned are the claims that a pod names, and those that are made for it.
func mentioned(pod *corev1.Pod) (keys []objectName) {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		switch {
		case v.PersistentVolumeClaim != nil:
			keys = append(keys, objectName{pod.Namespace, v.PersistentVolumeClaim.ClaimName})
		case v.Ephemeral != nil:
			keys = append(keys, objectName{pod.Namespace, pod.Name + "-" + v.Name})
		}
	}
	return keys
}

// over tells of pods that run no more.
func over(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// sync looks at one object.
func (p *protection) sync(ctx context.Context, key objectName) (verdict, error) {
	obj, err := p.live(ctx, p.resource, key.namespace, key.name)
	if obj == nil || err != nil {
		return done, err
	}
	has, going := slices.Contains(obj.GetFinalizers(), p.finalizer), obj.GetDeletionTimestamp() != nil
	if has != going { // kept and not to go, or on its way for other reasons
		return done, nil
	}
	obj = obj.DeepCopyObject().(api.Object)
	if going {
		if used, err := p.used(ctx, obj); used || err != nil {
			return done, err
		}
		obj.SetFinalizers(slices.DeleteFunc(obj.GetFinalizers(), func(f string) bool { return f == p.finalizer }))
	} else {
		obj.SetFinalizers(append(obj.GetFinalizers(), p.finalizer))
	}
	err = p.client.do(ctx, http.MethodPut, pathOf(p.resource, key.namespace, key.name), "application/json", obj, nil)
	switch {
	case apierrors.IsNotFound(err):
		return done, nil
	case apierrors.IsConflict(err):
		return soon, nil
	}
	return done, err
}
