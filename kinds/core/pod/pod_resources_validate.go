package pod

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podresource "k8s.io/component-helpers/resource"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// unknownClaim returns the error for a claim that the pod does not have; the message lists its
// claims.
func (c *podCheck) unknownClaim(at *validation.Path, name string) *field.Error {
	if c.claimNames == "" {
		names := make([]string, 0, len(c.spec.ResourceClaims))
		for _, claim := range c.spec.ResourceClaims {
			if claim.Name != "" {
				names = append(names, claim.Name)
			}
		}
		slices.Sort(names)
		c.claimNames = "must be one of the names in pod.spec.resourceClaims which is empty"
		if len(names) > 0 {
			c.claimNames = "must be one of the names in pod.spec.resourceClaims: " + strings.Join(slices.Compact(names), ", ")
		}
	}
	err := field.NotFound(at.ToField(), name)
	err.Detail = c.claimNames
	return err
}

// podResourceRules validates resources at pod level.
func podResourceRules(at *validation.Path, s *corev1.PodSpec) {
	if s.Resources == nil || !at.Enabled(features.PodLevelResources) {
		return
	}
	if s.OS != nil && s.OS.Name == corev1.Windows { // without errors of the value, which may not be set
		at.Forbidden("may not be set for a windows pod")
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
	return podresource.AggregateContainerRequests(&corev1.Pod{Spec: *s}, podresource.PodResourcesOptions{})
}

// containerLimits returns the total limits of the containers of a pod.
func containerLimits(s *corev1.PodSpec) corev1.ResourceList {
	return podresource.AggregateContainerLimits(&corev1.Pod{Spec: *s}, podresource.PodResourcesOptions{})
}

// overheadRules validates overhead like the limits of a container.
func (c *podCheck) overheadRules(at *validation.Path, list corev1.ResourceList) {
	if list == nil {
		return
	}
	// Names in errors are below limits, although overhead has no such field.
	c.resourceRules(at, &corev1.ResourceRequirements{Limits: list}, validation.ContainerResourceName)
}
