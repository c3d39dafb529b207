package controllers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/admission/plugins"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/registry"
)

const claimProtectionName = "persistentvolumeclaim-protection-controller"

// newClaimProtection returns the controller that protects claims in use by pods.
func newClaimProtection(c Config) Controller {
	claims, pods := c.Served(corev1.SchemeGroupVersion, "persistentvolumeclaims"), c.Served(corev1.SchemeGroupVersion, "pods")
	if claims == nil || pods == nil {
		return nil
	}
	p := &finalizerProtection{Config: c, client: reconcile.NewClient(c.Handler, "pvc-protection-controller"), resource: claims, finalizer: plugins.PVCProtection}
	p.inUse = func(ctx context.Context, obj api.Object) (bool, error) {
		items, err := c.Items(ctx, pods, obj.GetNamespace(), registry.Selection{})
		for _, item := range items {
			pod, err := item.Object()
			if err != nil || podUsesClaim(pod.(*corev1.Pod), obj) {
				return true, err
			}
		}
		return false, err
	}
	return &reconcile.Loop[objectName]{BaseConfig: c.BaseConfig, Name: claimProtectionName, Sync: p.sync, Sources: []reconcile.Source[objectName]{
		{Resource: claims, Keys: objectKey},
		// Only the end of a pod can free a claim. The object of an unobserved deletion has
		// no spec, so all claims of its namespace are synced.
		{Resource: pods, Keys: func(ch reconcile.Change) []objectName {
			pod, known := ch.Object.(*corev1.Pod)
			switch {
			case known && (ch.Deleted || podEnded(pod)):
				return claimsOfPod(pod)
			case !known:
				return cachedKeys(c, claims, ch.Object.GetNamespace())
			}
			return nil
		}},
	}}
}

// podUsesClaim reports whether a pod uses a claim. An unscheduled pod does not, because it
// cannot be started with a claim that is being deleted.
func podUsesClaim(pod *corev1.Pod, claim api.Object) bool {
	if pod.Spec.NodeName == "" {
		return false
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		switch {
		case v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.GetName(),
			v.Ephemeral != nil && pod.Name+"-"+v.Name == claim.GetName() && metav1.IsControlledBy(claim, pod) && !podEnded(pod):
			return true
		}
	}
	return false
}

// claimsOfPod returns the claims that a pod references and its ephemeral claims.
func claimsOfPod(pod *corev1.Pod) (keys []objectName) {
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

// podEnded reports whether a pod has ended.
func podEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
