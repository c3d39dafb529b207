package controllers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

const claimProtectionName = "persistentvolumeclaim-protection-controller"

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
