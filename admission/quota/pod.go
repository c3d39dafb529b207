package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	podresource "k8s.io/component-helpers/resource"
)

// maxStatuses is the maximum number of containers for which the resources in the status of a pod
// count: the library searches the status of each container in the whole list.
const maxStatuses = 1000

// podUsage returns the usage of a pod: the highest of the amounts that it requests, that its node has
// allocated, and that its containers have, which differ while a resize is in progress. A pod that has
// terminated, or whose termination is overdue, counts as an object but uses no resources.
func podUsage(pod *corev1.Pod, now time.Time, x Exclusions) corev1.ResourceList {
	used := corev1.ResourceList{"count/pods": quantityOne()}
	if hasTerminated(pod, now) {
		return used
	}
	used[corev1.ResourcePods] = quantityOne()
	o := podresource.PodResourcesOptions{
		SkipPodLevelResources: x.PodLevel,
		UseStatusResources:    len(pod.Spec.Containers)+len(pod.Spec.InitContainers) <= maxStatuses,
	}
	requests, limits := podresource.PodRequests(pod, o), podresource.PodLimits(pod, o)
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

func hasTerminated(pod *corev1.Pod, now time.Time) bool {
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return true
	}
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil {
		return false
	}
	return now.After(pod.DeletionTimestamp.Add(time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second))
}

// isCompute reports whether an unprefixed quota name means requests of this resource.
func isCompute(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage
}

// IsExtended reports whether a resource name is an extended resource.
func IsExtended(name corev1.ResourceName) bool {
	s := string(name)
	return strings.Contains(s, "/") && !strings.Contains(s, corev1.ResourceDefaultNamespacePrefix) &&
		!strings.HasPrefix(s, corev1.DefaultResourceRequestsPrefix)
}

// countsPods reports whether a quota name counts pods.
func countsPods(name corev1.ResourceName) bool {
	s := string(name)
	switch {
	case name == "count/pods", name == corev1.ResourcePods, isCompute(name), strings.HasPrefix(s, corev1.ResourceHugePagesPrefix):
		return true
	}
	if limit, ok := strings.CutPrefix(s, "limits."); ok {
		return isCompute(corev1.ResourceName(limit))
	}
	request, ok := strings.CutPrefix(s, corev1.DefaultResourceRequestsPrefix)
	extended := corev1.ResourceName(request)
	return ok && (isCompute(extended) || strings.HasPrefix(request, corev1.ResourceHugePagesPrefix) || IsExtended(extended))
}

// checkContainers returns an error if a quota counts CPU or memory and a container does not specify
// an amount. A pod with amounts at pod level is exempt, if these count.
func checkContainers(pod *corev1.Pod, names []corev1.ResourceName, x Exclusions) error {
	if !x.PodLevel && podresource.IsPodLevelResourcesSet(pod) {
		return nil
	}
	missing := map[string][]string{}
	for _, name := range names {
		resourceName, amounts, ok := containerAmount(name)
		if !ok {
			continue
		}
		for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range containers {
				c := &containers[i]
				if _, given := amounts(&c.Resources)[resourceName]; !given {
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

func requestsOf(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Requests }

func limitsOf(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Limits }

// containerAmount returns the resource of a quota name that every container must specify, and a
// function that returns the requests or limits in which it is specified.
func containerAmount(name corev1.ResourceName) (corev1.ResourceName, func(*corev1.ResourceRequirements) corev1.ResourceList, bool) {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceRequestsCPU:
		return corev1.ResourceCPU, requestsOf, true
	case corev1.ResourceMemory, corev1.ResourceRequestsMemory:
		return corev1.ResourceMemory, requestsOf, true
	case corev1.ResourceLimitsCPU:
		return corev1.ResourceCPU, limitsOf, true
	case corev1.ResourceLimitsMemory:
		return corev1.ResourceMemory, limitsOf, true
	}
	return "", nil, false
}

func quantityOne() resource.Quantity { return *resource.NewQuantity(1, resource.DecimalSI) }
