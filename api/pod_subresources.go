package api

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// podSubresources are the ways in which others than a pod's owner change it.
func podSubresources() []*Subresource {
	return append(podConnections(),
		podBinding(time.Now),
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
	dropDisabledOfPod(nil, obj, old)
}

// keepButResources lets nothing of a pod change but what it and its containers
// may use. Added, removed and renamed containers are left for validation to
// refuse.
func keepButResources(obj, old Object) {
	pod, was := obj.(*corev1.Pod), old.(*corev1.Pod)
	if len(pod.Spec.Containers) == len(was.Spec.Containers) && len(pod.Spec.InitContainers) == len(was.Spec.InitContainers) {
		wanted, owners := pod.Spec, pod.ManagedFields
		was.DeepCopyInto(pod)
		pod.ManagedFields, pod.Spec.Resources = owners, wanted.Resources
		pod.Spec.Containers = takeResources(pod.Spec.Containers, wanted.Containers)
		pod.Spec.InitContainers = takeResources(pod.Spec.InitContainers, wanted.InitContainers)
	}
	dropDisabledOfPod(nil, obj, old)
}

// takeResources returns containers with the resources of the wanted ones. Where a
// name differs, it returns the wanted containers.
func takeResources(containers, wanted []corev1.Container) []corev1.Container {
	if !slices.EqualFunc(containers, wanted, func(a, b corev1.Container) bool { return a.Name == b.Name }) {
		return wanted
	}
	for i := range containers {
		containers[i].Resources, containers[i].ResizePolicy = wanted[i].Resources, wanted[i].ResizePolicy
	}
	return containers
}
