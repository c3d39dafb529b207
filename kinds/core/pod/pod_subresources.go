package pod

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// podSubresources returns all subresources of pods except status. now is the clock.
func podSubresources(gates features.Gates, level podLevel, now func() time.Time) []api.Subresource {
	return append(podConnections(gates),
		podBinding(now, gates),
		api.NewField("ephemeralcontainers", api.ReadWrite(), keepButEphemeralContainers,
			api.Metadata, api.RevalidatedMetadata, api.Changes(ephemeralContainerChanges), api.Declared),
		podEviction(now),
		api.NewField("resize", api.ReadWrite(), keepButResources(level, gates),
			api.Metadata, api.RevalidatedMetadata, validateResize(level), api.Declared),
	)
}

// keepButEphemeralContainers restores all fields except ephemeral containers.
func keepButEphemeralContainers(pod, old *corev1.Pod) {
	wanted := pod.Spec.EphemeralContainers
	keepIdentified(pod, old)
	pod.Spec.EphemeralContainers = wanted
}

// keepIdentified restores all fields except metadata that an update of the status keeps too:
// managedFields, generateName, and fields whose change is refused.
func keepIdentified(pod, old *corev1.Pod) {
	meta := pod.ObjectMeta
	old.DeepCopyInto(pod)
	metav1.ResetObjectMetaForStatus(&meta, &pod.ObjectMeta)
	pod.ObjectMeta = meta
}

// keepButResources restores all fields except the resources of the pod and its containers, and the
// volumes, as far as their gates are enabled. Validation refuses added, removed and renamed containers.
func keepButResources(level podLevel, gates features.Gates) func(pod, old *corev1.Pod) {
	ofPod, ofVolumes := gates.Enabled(features.InPlacePodLevelResourcesVerticalScaling), gates.Enabled(features.InPlacePodVerticalScalingMemoryBackedVolumes)
	return func(pod, old *corev1.Pod) {
		if len(pod.Spec.Containers) == len(old.Spec.Containers) && len(pod.Spec.InitContainers) == len(old.Spec.InitContainers) {
			wanted := pod.Spec
			keepIdentified(pod, old)
			if ofPod {
				pod.Spec.Resources = wanted.Resources
			}
			if ofVolumes {
				pod.Spec.Volumes = wanted.Volumes
			}
			pod.Spec.Containers = takeResources(pod.Spec.Containers, wanted.Containers)
			pod.Spec.InitContainers = takeResources(pod.Spec.InitContainers, wanted.InitContainers)
		}
		level.keep(pod, old)
		level.complete(&pod.Spec)
	}
}

// takeResources returns containers with the resources of wanted or, if names differ, wanted.
func takeResources(containers, wanted []corev1.Container) []corev1.Container {
	if !slices.EqualFunc(containers, wanted, func(a, b corev1.Container) bool { return a.Name == b.Name }) {
		return wanted
	}
	for i := range containers {
		containers[i].Resources, containers[i].ResizePolicy = wanted[i].Resources, wanted[i].ResizePolicy
	}
	return containers
}
