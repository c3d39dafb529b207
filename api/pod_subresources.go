package api

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// podSubresources are the ways in which others than a pod's owner change it.
func podSubresources() []*Subresource {
	kind := binding(time.Now)
	return []*Subresource{
		{Name: "binding", Verbs: []string{VerbCreate}, Kind: kind, Change: kind.Virtual.Change, Whole: true},
		{Name: "ephemeralcontainers", Verbs: readWrite(), Keep: keepButEphemeralContainers, Validate: validateEphemeralContainers},
		eviction(),
		{Name: "resize", Verbs: readWrite(), Keep: keepButResources, Validate: validateResize},
	}
}

// keepButEphemeralContainers lets nothing of a pod change but the containers
// that are added to look into it.
func keepButEphemeralContainers(obj, old Object) {
	pod := obj.(*corev1.Pod)
	wanted := pod.Spec.EphemeralContainers
	old.(*corev1.Pod).DeepCopyInto(pod)
	pod.Spec.EphemeralContainers = wanted
}

// keepButResources lets nothing of a pod change but what its containers may use.
func keepButResources(obj, old Object) {
	pod := obj.(*corev1.Pod)
	wanted := pod.Spec
	old.(*corev1.Pod).DeepCopyInto(pod)
	takeResources(pod.Spec.Containers, wanted.Containers)
	takeResources(pod.Spec.InitContainers, wanted.InitContainers)
}

// takeResources gives containers the resources of those of the same name.
func takeResources(containers, wanted []corev1.Container) {
	for i := range containers {
		for _, w := range wanted {
			if w.Name == containers[i].Name {
				containers[i].Resources, containers[i].ResizePolicy = w.Resources, w.ResizePolicy
			}
		}
	}
}
