package controllers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

const podGroupProtectionName = "podgroup-protection-controller"

// newPodGroupProtection makes the controller that keeps a deleted pod group until its
// last running pod ends. The finalizer comes from admission only.
func newPodGroupProtection(c Config) Controller {
	groups, pods := c.served(schedulingv1alpha2.SchemeGroupVersion, "podgroups"), c.served(corev1.SchemeGroupVersion, "pods")
	if groups == nil || pods == nil {
		return nil
	}
	p := &protection{Config: c, client: newClient(c.Handler, podGroupProtectionName), resource: groups,
		finalizer: admission.PodGroupProtection, removesOnly: true}
	p.used = func(ctx context.Context, group api.Object) (bool, error) {
		items, err := c.items(ctx, pods, group.GetNamespace(), registry.Selection{})
		for _, item := range items {
			obj, err := item.Object()
			if err != nil {
				return true, err
			}
			if pod := obj.(*corev1.Pod); !over(pod) && podGroupOf(pod) == group.GetName() {
				return true, nil
			}
		}
		return false, err
	}
	return &loop[objectName]{Config: c, name: podGroupProtectionName, sync: p.sync, sources: []source[objectName]{
		{resource: groups, keys: keyOf},
		// Only the end of a pod can free its group. Of a pod that was deleted unseen only
		// the name is left: then every group of its namespace is checked.
		{resource: pods, keys: func(ch change) []objectName {
			pod, known := ch.object.(*corev1.Pod)
			switch {
			case !known:
				return all(c, groups, ch.object.GetNamespace())
			case podGroupOf(pod) != "" && (ch.gone || over(pod)):
				return []objectName{{pod.Namespace, podGroupOf(pod)}}
			}
			return nil
		}},
	}}
}

// podGroupOf returns the name of the group of a pod, or the empty string.
func podGroupOf(pod *corev1.Pod) string {
	if g := pod.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		return *g.PodGroupName
	}
	return ""
}
