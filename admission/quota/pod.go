package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Pod is what the containers of a pod need of a node, of requests or of limits as
// of chooses. Containers that run side by side add up; of init containers, which
// run one after the other, the largest counts, with the sidecars that run
// already. What is said of the pod itself stands for the sum.
func Pod(pod *corev1.Pod, of func(*corev1.ResourceRequirements) corev1.ResourceList) corev1.ResourceList {
	total := corev1.ResourceList{}
	for i := range pod.Spec.Containers {
		add(total, of(&pod.Spec.Containers[i].Resources))
	}
	sidecars, largest := corev1.ResourceList{}, corev1.ResourceList{}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		running := corev1.ResourceList{}
		add(running, sidecars)
		add(running, of(&c.Resources))
		raise(largest, running)
		if p := c.RestartPolicy; p != nil && *p == corev1.ContainerRestartPolicyAlways {
			add(sidecars, of(&c.Resources))
		}
	}
	add(total, sidecars)
	raise(total, largest)
	if r := pod.Spec.Resources; r != nil {
		maps.Copy(total, of(r))
	}
	return total
}

// Requests and Limits are what Pod can be asked for.
func Requests(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Requests }

// Limits are what containers may use at most.
func Limits(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Limits }

// podUsage is what a pod uses of a quota. One that has come to its end, or is
// long overdue to, counts as an object and uses nothing.
func podUsage(pod *corev1.Pod, now time.Time) corev1.ResourceList {
	used := corev1.ResourceList{"count/pods": one()}
	if ended(pod, now) {
		return used
	}
	used[corev1.ResourcePods] = one()
	requests, limits := Pod(pod, Requests), Pod(pod, Limits)
	add(requests, pod.Spec.Overhead)
	for name, q := range pod.Spec.Overhead {
		if is, limited := limits[name]; limited {
			is.Add(q)
			limits[name] = is
		}
	}
	for name, q := range requests {
		switch {
		case isCompute(name), strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
			used[name] = q
			used["requests."+name] = q
		case IsExtended(name):
			used["requests."+name] = q
		}
	}
	for name, q := range limits {
		if isCompute(name) {
			used["limits."+name] = q
		}
	}
	return used
}

func ended(pod *corev1.Pod, now time.Time) bool {
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return true
	}
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil {
		return false
	}
	return now.After(pod.DeletionTimestamp.Add(time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second))
}

// isCompute tells of what a quota of a plain name is about requests of.
func isCompute(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage
}

// IsExtended tells of resources that are somebody else's.
func IsExtended(name corev1.ResourceName) bool {
	s := string(name)
	return strings.Contains(s, "/") && !strings.Contains(s, corev1.ResourceDefaultNamespacePrefix) && !strings.HasPrefix(s, corev1.DefaultResourceRequestsPrefix)
}

// podNames tells which names of a quota are about pods.
func podNames(name corev1.ResourceName) bool {
	s := string(name)
	switch {
	case name == "count/pods", name == corev1.ResourcePods, isCompute(name), strings.HasPrefix(s, corev1.ResourceHugePagesPrefix):
		return true
	}
	if limit, ok := strings.CutPrefix(s, "limits."); ok {
		return isCompute(corev1.ResourceName(limit))
	}
	request, ok := strings.CutPrefix(s, corev1.DefaultResourceRequestsPrefix)
	of := corev1.ResourceName(request)
	return ok && (isCompute(of) || strings.HasPrefix(request, corev1.ResourceHugePagesPrefix) || IsExtended(of))
}

// podConstraint: where a quota is about CPU or memory, every container must say
// what it needs of it, unless the pod does for all.
func podConstraint(pod *corev1.Pod, names []corev1.ResourceName) error {
	if r := pod.Spec.Resources; r != nil && (len(r.Requests) > 0 || len(r.Limits) > 0) {
		return nil
	}
	missing := map[string][]string{}
	for _, name := range names {
		of, list, ok := containerAmount(name)
		if !ok {
			continue
		}
		for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range containers {
				c := &containers[i]
				if _, given := list(&c.Resources)[of]; !given {
					missing[string(name)] = append(missing[string(name)], c.Name)
				}
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		containers := missing[name]
		slices.Sort(containers)
		parts = append(parts, fmt.Sprintf("%s for: %s", name, strings.Join(slices.Compact(containers), ",")))
	}
	return fmt.Errorf("must specify %s", strings.Join(parts, "; "))
}

// containerAmount is what a name of a quota is of a container's resources, for
// those that containers must give.
func containerAmount(name corev1.ResourceName) (corev1.ResourceName, func(*corev1.ResourceRequirements) corev1.ResourceList, bool) {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceRequestsCPU:
		return corev1.ResourceCPU, Requests, true
	case corev1.ResourceMemory, corev1.ResourceRequestsMemory:
		return corev1.ResourceMemory, Requests, true
	case corev1.ResourceLimitsCPU:
		return corev1.ResourceCPU, Limits, true
	case corev1.ResourceLimitsMemory:
		return corev1.ResourceMemory, Limits, true
	}
	return "", nil, false
}

func one() resource.Quantity { return *resource.NewQuantity(1, resource.DecimalSI) }
