package pod

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api"
)

// podSubresources are the ways in which others than a pod's owner change it.
func podSubresources() []*api.Subresource {
	return append(podConnections(),
		podBinding(time.Now),
		api.NewPart(api.Part[*corev1.Pod]{Name: "ephemeralcontainers", Verbs: api.ReadWrite(), PrepareForUpdate: keepButEphemeralContainers, ValidateUpdate: validateEphemeralContainers}),
		eviction(),
		api.NewPart(api.Part[*corev1.Pod]{Name: "resize", Verbs: api.ReadWrite(), PrepareForUpdate: keepButResources, ValidateUpdate: validateResize}),
	)
}

// keepButEphemeralContainers lets nothing of a pod change but the containers
// that are added to look into it.
func keepButEphemeralContainers(pod, old *corev1.Pod) {
	wanted, owners := pod.Spec.EphemeralContainers, pod.ManagedFields
	old.DeepCopyInto(pod)
	pod.Spec.EphemeralContainers, pod.ManagedFields = wanted, owners
	dropDisabledOfPod(nil, pod, old)
}

// keepButResources lets nothing of a pod change but what it and its containers
// may use. Added, removed and renamed containers are left for validation to
// refuse.
func keepButResources(pod, old *corev1.Pod) {
	if len(pod.Spec.Containers) == len(old.Spec.Containers) && len(pod.Spec.InitContainers) == len(old.Spec.InitContainers) {
		wanted, owners := pod.Spec, pod.ManagedFields
		old.DeepCopyInto(pod)
		pod.ManagedFields, pod.Spec.Resources = owners, wanted.Resources
		pod.Spec.Containers = takeResources(pod.Spec.Containers, wanted.Containers)
		pod.Spec.InitContainers = takeResources(pod.Spec.InitContainers, wanted.InitContainers)
	}
	dropDisabledOfPod(nil, pod, old)
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
