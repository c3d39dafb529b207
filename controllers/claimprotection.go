package controllers

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/admission/plugins"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

const claimProtectionName = "persistentvolumeclaim-protection-controller"

// newClaimProtection returns the controller that protects claims in use by pods.
func newClaimProtection(c Config) Controller {
	claims, pods := c.Served(corev1.SchemeGroupVersion, "persistentvolumeclaims"), c.Served(corev1.SchemeGroupVersion, "pods")
	if claims == nil || pods == nil {
		return nil
	}
	p := &finalizerProtection{Config: c, client: reconcile.NewClient(c.Handler, "pvc-protection-controller"),
		resource: claims, finalizer: plugins.PVCProtection}
	p.inUse = usedBy(c, func(pod, claim api.Object) bool { return podUsesClaim(pod.(*corev1.Pod), claim) }, pods)
	sync, usage := p.sync, &claimUsage{Config: c, client: p.client, claims: claims, pods: pods}
	recordsUsage := c.Gates.Enabled(features.PersistentVolumeClaimUnusedSinceTime)
	if recordsUsage {
		sync = func(ctx context.Context, key objectName) (reconcile.Result, error) {
			if result, err := usage.sync(ctx, key); err != nil || result != reconcile.Done {
				return result, err
			}
			return p.sync(ctx, key)
		}
	}
	return &reconcile.Loop[objectName]{BaseConfig: c.BaseConfig, Name: claimProtectionName, Sync: sync,
		Sources: []reconcile.Source[objectName]{
			{Resource: claims, Keys: objectKey},
			// Only the end of a pod can free a claim. The object of an unobserved deletion has
			// no spec, so all claims of its namespace are synced.
			{Resource: pods, Keys: func(ch reconcile.Change) []objectName {
				pod, known := ch.Object.(*corev1.Pod)
				switch {
				case !known:
					return cachedKeys(c, claims, ch.Object.GetNamespace())
				case ch.Deleted || podEnded(pod) || recordsUsage && podTerminated(pod):
					return claimsOfPod(pod)
				case recordsUsage:
					return usage.affectedBy(pod)
				}
				return nil
			}},
		}}
}

// podUsesClaim reports whether a pod uses a claim. An unscheduled pod does not, because it
// cannot be started with a claim that is being deleted.
func podUsesClaim(pod *corev1.Pod, claim api.Object) bool {
	return pod.Spec.NodeName != "" && slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return mountsClaim(pod, &v, claim) && (v.Ephemeral == nil || !podEnded(pod))
	})
}

// podHasClaim reports whether a volume of a pod is a claim.
func podHasClaim(pod *corev1.Pod, claim api.Object) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return mountsClaim(pod, &v, claim) })
}

// mountsClaim reports whether a volume is a claim, or the ephemeral volume for which the claim was
// created.
func mountsClaim(pod *corev1.Pod, v *corev1.Volume, claim api.Object) bool {
	return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.GetName() ||
		v.Ephemeral != nil && pod.Name+"-"+v.Name == claim.GetName() && metav1.IsControlledBy(claim, pod)
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
