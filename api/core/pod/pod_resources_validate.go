package pod

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// unknownClaim returns the error for a claim that the pod does not have; the message lists its
// claims.
func (c *podCheck) unknownClaim(at *validation.Path, name string) *field.Error {
	err := field.NotFound(at.ToField(), name)
	var names []string
	for _, claim := range c.spec.ResourceClaims {
		if claim.Name != "" && !slices.Contains(names, claim.Name) {
			names = append(names, claim.Name)
		}
	}
	slices.Sort(names)
	err.Detail = "must be one of the names in pod.spec.resourceClaims which is empty"
	if len(names) > 0 {
		err.Detail = "must be one of the names in pod.spec.resourceClaims: " + strings.Join(names, ", ")
	}
	return err
}

// podResourceRules validates resources at pod level.
func podResourceRules(at *validation.Path, s *corev1.PodSpec) {
	if s.Resources == nil || !at.Enabled(validation.PodLevelResources) {
		return
	}
	if s.Resources.Claims != nil {
		at.Child("claims").Forbidden("claims may not be set for Resources at pod-level")
	}
	c := podCheck{spec: s}
	c.resourceRules(at, s.Resources, podResourceName)
	c.claimRefRules(at.Child("claims"), s.Resources.Claims)
	podRequestsSuffice(at, s)
}

func podResourceName(at *validation.Path, name corev1.ResourceName) {
	if validation.ResourceName(at, name) && name != corev1.ResourceCPU && name != corev1.ResourceMemory && !validation.IsHugePages(name) {
		validation.OneOf(at, name, corev1.ResourceCPU, "hugepages-", corev1.ResourceMemory)
	}
}

// podRequestsSuffice validates that the requests at pod level cover those of the containers.
func podRequestsSuffice(at *validation.Path, s *corev1.PodSpec) {
	total := containerRequests(s)
	for _, name := range slices.Sorted(maps.Keys(total)) {
		all := total[name]
		if requested, ok := s.Resources.Requests[name]; ok && all.Cmp(requested) > 0 {
			at.Child("requests").Key(string(name)).Invalid(requested.String(),
				fmt.Sprintf("must be greater than or equal to aggregate container requests of %s", all.String()))
		}
	}
	limits := containerLimits(s)
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		all := limits[name]
		if most, ok := s.Resources.Limits[name]; ok && validation.IsHugePages(name) && all.Cmp(most) > 0 {
			at.Child("limits").Key(string(name)).Invalid(most.String(),
				fmt.Sprintf("must be greater than or equal to aggregate container limits of %s", all.String()))
		}
	}
	for i := range s.Containers {
		for name, limit := range sortedResources(s.Containers[i].Resources.Limits) {
			if most, ok := s.Resources.Limits[name]; ok && limit.Cmp(most) > 0 {
				at.Child("containers").Index(i).Key(string(name)).Child("limits").Invalid(limit.String(),
					fmt.Sprintf("must be less than or equal to pod limits of %s", most.String()))
			}
		}
	}
}

// containerRequests returns the total requests of the containers of a pod.
func containerRequests(s *corev1.PodSpec) corev1.ResourceList {
	return ContainerTotal(s, func(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Requests })
}

// containerLimits returns the total limits of the containers of a pod.
func containerLimits(s *corev1.PodSpec) corev1.ResourceList {
	return ContainerTotal(s, func(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Limits })
}

// ContainerTotal returns the requests or limits, as chosen by get, that the containers of a pod have
// at one time: the sum of all containers and sidecars or, if it is higher, the amounts of an init
// container and of the sidecars that start before it.
func ContainerTotal(s *corev1.PodSpec, get func(r *corev1.ResourceRequirements) corev1.ResourceList) corev1.ResourceList {
	total, sidecars, most := corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	for i := range s.Containers {
		AddAmounts(total, get(&s.Containers[i].Resources))
	}
	for i := range s.InitContainers {
		ctr := &s.InitContainers[i]
		if IsSidecar(ctr) {
			AddAmounts(total, get(&ctr.Resources))
			AddAmounts(sidecars, get(&ctr.Resources))
			RaiseAmounts(most, sidecars)
			continue
		}
		now := sidecars.DeepCopy()
		AddAmounts(now, get(&ctr.Resources))
		RaiseAmounts(most, now)
	}
	RaiseAmounts(total, most)
	return total
}

// AddAmounts adds more to sum.
func AddAmounts(sum, more corev1.ResourceList) {
	for name, q := range more {
		total := sum[name].DeepCopy()
		total.Add(q)
		sum[name] = total
	}
}

// RaiseAmounts sets each amount of sum to the maximum of both lists.
func RaiseAmounts(sum, least corev1.ResourceList) {
	for name, q := range least {
		if amount, ok := sum[name]; !ok || q.Cmp(amount) > 0 {
			sum[name] = q.DeepCopy()
		}
	}
}

// overheadRules validates overhead like the limits of a container.
func (c *podCheck) overheadRules(at *validation.Path, list corev1.ResourceList) {
	if list == nil {
		return
	}
	// Names in errors are below limits, although overhead has no such field.
	c.resourceRules(at, &corev1.ResourceRequirements{Limits: list}, validation.ContainerResourceName)
}
