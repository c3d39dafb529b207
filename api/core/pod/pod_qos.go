package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// podQOS returns the quality of service class of a pod: Guaranteed if every container has
// equal limits and requests of CPU and memory, BestEffort if none has any, else Burstable.
// Resources at pod level take precedence over those of containers.
func podQOS(s *corev1.PodSpec) corev1.PodQOSClass {
	var sources []corev1.ResourceRequirements
	if s.Resources != nil {
		sources = append(sources, *s.Resources)
	} else {
		for _, list := range [][]corev1.Container{s.Containers, s.InitContainers} {
			for i := range list {
				sources = append(sources, list[i].Resources)
			}
		}
	}
	requests, limits := map[corev1.ResourceName]resource.Quantity{}, map[corev1.ResourceName]resource.Quantity{}
	guaranteed := true
	for _, r := range sources {
		sumCompute(requests, r.Requests)
		if sumCompute(limits, r.Limits) < 2 && (s.Resources == nil || len(r.Limits) > 0) {
			guaranteed = false
		}
	}
	switch {
	case len(requests) == 0 && len(limits) == 0:
		return corev1.PodQOSBestEffort
	case guaranteed && sameCompute(requests, limits):
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// sumCompute adds the CPU and memory of list to sum, and returns how many of the two list has.
func sumCompute(sum map[corev1.ResourceName]resource.Quantity, list corev1.ResourceList) int {
	found := 0
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		q, ok := list[name]
		if !ok || q.Sign() <= 0 {
			continue
		}
		found++
		total := sum[name].DeepCopy()
		total.Add(q)
		sum[name] = total
	}
	return found
}

// sameCompute reports whether all requests equal their limits.
func sameCompute(requests, limits map[corev1.ResourceName]resource.Quantity) bool {
	for name, q := range requests {
		if limit, ok := limits[name]; !ok || limit.Cmp(q) != 0 {
			return false
		}
	}
	return len(requests) == len(limits)
}
