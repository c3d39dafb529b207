package api

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// podSubresources are the ways in which others than a pod's owner change it.
func podSubresources() []*Subresource {
	kind := binding(time.Now)
	return append(podConnections(),
		&Subresource{Name: "binding", Verbs: []string{VerbCreate}, Kind: kind, Change: kind.Virtual.Change, Whole: true},
		&Subresource{Name: "ephemeralcontainers", Verbs: readWrite(), Keep: keepButEphemeralContainers, Validate: validateEphemeralContainers},
		eviction(),
		&Subresource{Name: "resize", Verbs: readWrite(), Keep: keepButResources, Validate: validateResize},
	)
}

// keepButEphemeralContainers lets nothing of a pod change but the containers
// that are added to look into it.
func keepButEphemeralContainers(obj, old Object) {
	pod := obj.(*corev1.Pod)
	wanted, owners := pod.Spec.EphemeralContainers, pod.ManagedFields
	old.(*corev1.Pod).DeepCopyInto(pod)
	pod.Spec.EphemeralContainers, pod.ManagedFields = wanted, owners
}

// keepButResources lets nothing of a pod change but what it and its containers
// may use. Containers that are not those that were there are left for validation
// to refuse.
func keepButResources(obj, old Object) {
	pod, was := obj.(*corev1.Pod), old.(*corev1.Pod)
	if !sameNames(pod.Spec.Containers, was.Spec.Containers) || !sameNames(pod.Spec.InitContainers, was.Spec.InitContainers) {
		return
	}
	wanted, owners := pod.Spec, pod.ManagedFields
	was.DeepCopyInto(pod)
	pod.ManagedFields, pod.Spec.Resources = owners, wanted.Resources
	takeResources(pod.Spec.Containers, wanted.Containers)
	takeResources(pod.Spec.InitContainers, wanted.InitContainers)
}

// sameNames tells whether two lists are of containers of the same names, in the
// same order.
func sameNames(a, b []corev1.Container) bool {
	return slices.EqualFunc(a, b, func(a, b corev1.Container) bool { return a.Name == b.Name })
}

// takeResources gives containers the resources of others, one by one.
func takeResources(containers, wanted []corev1.Container) {
	for i := range containers {
		containers[i].Resources, containers[i].ResizePolicy = wanted[i].Resources, wanted[i].ResizePolicy
	}
}
