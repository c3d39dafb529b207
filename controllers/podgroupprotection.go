package controllers

import (
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/miniapiserver/miniapiserver/admission/plugins"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
)

const podGroupProtectionName = "podgroup-protection-controller"

// newPodGroupProtection returns the controller that protects a pod group until its last
// running pod ends. Admission alone adds the finalizer.
func newPodGroupProtection(c Config) Controller {
	groups, pods := c.Served(schedulingv1beta1.SchemeGroupVersion, "podgroups"), c.Served(corev1.SchemeGroupVersion, "pods")
	if groups == nil || pods == nil {
		return nil
	}
	p := &finalizerProtection{Config: c, client: reconcile.NewClient(c.Handler, podGroupProtectionName), resource: groups,
		finalizer: plugins.PodGroupProtection, removesOnly: true}
	p.inUse = usedBy(c, func(obj, group api.Object) bool {
		pod := obj.(*corev1.Pod)
		return !podEnded(pod) && podGroupOf(pod) == group.GetName()
	}, pods)
	return &reconcile.Loop[objectName]{BaseConfig: c.BaseConfig, Name: podGroupProtectionName, Sync: p.sync,
		Sources: []reconcile.Source[objectName]{
			{Resource: groups, Keys: objectKey},
			// Only the end of a pod can free its group. The object of an unobserved deletion has
			// no spec, so all groups of its namespace are synced.
			{Resource: pods, Keys: func(ch reconcile.Change) []objectName {
				pod, known := ch.Object.(*corev1.Pod)
				switch {
				case !known:
					return cachedKeys(c, groups, ch.Object.GetNamespace())
				case podGroupOf(pod) != "" && (ch.Deleted || podEnded(pod)):
					return []objectName{{pod.Namespace, podGroupOf(pod)}}
				}
				return nil
			}},
		}}
}

// podGroupOf returns the name of the group of a pod, or "".
func podGroupOf(pod *corev1.Pod) string {
	if g := pod.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		return *g.PodGroupName
	}
	return ""
}
