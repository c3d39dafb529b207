package pod

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
)

// containersQOS returns the class of a pod without resources at pod level.
func containersQOS(s *corev1.PodSpec) corev1.PodQOSClass {
	var class corev1.PodQOSClass
	for _, list := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range list {
			c := requirementsQOS(&list[i].Resources)
			if class != "" && c != class {
				return corev1.PodQOSBurstable
			}
			class = c
		}
	}
	return cmp.Or(class, corev1.PodQOSBestEffort)
}

// requirementsQOS returns the class of the requirements of one container or of a pod.
func requirementsQOS(r *corev1.ResourceRequirements) corev1.PodQOSClass {
	if c := resourceQOS(r, corev1.ResourceCPU); c == resourceQOS(r, corev1.ResourceMemory) {
		return c
	}
	return corev1.PodQOSBurstable
}

// resourceQOS returns the class of the requirements of one resource. A missing request or limit
// counts as zero.
func resourceQOS(r *corev1.ResourceRequirements, name corev1.ResourceName) corev1.PodQOSClass {
	request, limit := r.Requests[name], r.Limits[name]
	switch {
	case !request.Equal(limit):
		return corev1.PodQOSBurstable
	case request.IsZero():
		return corev1.PodQOSBestEffort
	}
	return corev1.PodQOSGuaranteed
}
