package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	podkind "github.com/miniapiserver/miniapiserver/api/core/pod"
)

// Pod returns the total requests or limits of a pod, as chosen by get. Amounts at pod level, if they
// count, override the total of its containers.
func Pod(pod *corev1.Pod, get func(*corev1.ResourceRequirements) corev1.ResourceList, x Exclusions) corev1.ResourceList {
	total := podkind.ContainerTotal(&pod.Spec, get)
	if r := pod.Spec.Resources; r != nil && !x.PodLevel {
		maps.Copy(total, get(r))
	}
	return total
}

// Requests is an argument of Pod that returns requests.
func Requests(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Requests }

// Limits is an argument of Pod that returns limits.
func Limits(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Limits }

// podUsage returns the usage of a pod. A pod that has terminated, or whose termination is overdue,
// counts as an object but uses no resources.
func podUsage(pod *corev1.Pod, now time.Time, x Exclusions) corev1.ResourceList {
	used := corev1.ResourceList{"count/pods": quantityOne()}
	if hasTerminated(pod, now) {
		return used
	}
	used[corev1.ResourcePods] = quantityOne()
	requests, limits := Pod(pod, Requests, x), Pod(pod, Limits, x)
	podkind.AddAmounts(requests, pod.Spec.Overhead)
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
	return strings.Contains(s, "/") && !strings.Contains(s, corev1.ResourceDefaultNamespacePrefix) && !strings.HasPrefix(s, corev1.DefaultResourceRequestsPrefix)
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
	if r := pod.Spec.Resources; r != nil && !x.PodLevel && (len(r.Requests) > 0 || len(r.Limits) > 0) {
		return nil
	}
	missing := map[string][]string{}
	for _, name := range names {
		resourceName, list, ok := containerAmount(name)
		if !ok {
			continue
		}
		for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range containers {
				c := &containers[i]
				if _, given := list(&c.Resources)[resourceName]; !given {
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

// containerAmount returns the resource of a quota name that every container must specify, and
// whether it means requests or limits.
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

func quantityOne() resource.Quantity { return *resource.NewQuantity(1, resource.DecimalSI) }
