package admission

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// podResources is what a pod needs of a node, of requests or of limits as of
// chooses. Containers that run side by side add up; of init containers, which run
// one after the other, the largest counts, with the sidecars that run already.
// What is said of the pod itself stands for the sum.
func podResources(pod *corev1.Pod, of func(*corev1.ResourceRequirements) corev1.ResourceList) corev1.ResourceList {
	total := corev1.ResourceList{}
	for i := range pod.Spec.Containers {
		addResources(total, of(&pod.Spec.Containers[i].Resources))
	}
	sidecars, largest := corev1.ResourceList{}, corev1.ResourceList{}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		running := corev1.ResourceList{}
		addResources(running, sidecars)
		addResources(running, of(&c.Resources))
		maxResources(largest, running)
		if p := c.RestartPolicy; p != nil && *p == corev1.ContainerRestartPolicyAlways {
			addResources(sidecars, of(&c.Resources))
		}
	}
	addResources(total, sidecars)
	maxResources(total, largest)
	if r := pod.Spec.Resources; r != nil {
		for name, q := range of(r) {
			total[name] = q
		}
	}
	return total
}

func requestsOf(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Requests }

func limitsOf(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Limits }

// addResources adds more to sum.
func addResources(sum, more corev1.ResourceList) {
	for name, q := range more {
		if is, ok := sum[name]; ok {
			is.Add(q)
			sum[name] = is
		} else {
			sum[name] = q.DeepCopy()
		}
	}
}

// subtractResources takes less off sum, which may become negative.
func subtractResources(sum, less corev1.ResourceList) {
	for name, q := range less {
		is, ok := sum[name]
		if !ok {
			is = resource.Quantity{Format: q.Format}
		}
		is.Sub(q)
		sum[name] = is
	}
}

// maxResources raises list to what it is below of.
func maxResources(list, of corev1.ResourceList) {
	for name, q := range of {
		if is, ok := list[name]; !ok || q.Cmp(is) > 0 {
			list[name] = q.DeepCopy()
		}
	}
}
