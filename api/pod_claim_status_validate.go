package api

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// extendedClaimRules check the claim that was made for the extended resources of
// a pod.
func extendedClaimRules(at *place, pod *corev1.Pod) {
	s := pod.Status.ExtendedResourceClaimStatus
	if s == nil {
		return
	}
	mappings := at.of("requestMappings")
	if len(s.RequestMappings) == 0 {
		mappings.required("at least one request mapping is required")
	}
	var seen unique[corev1.ContainerExtendedResourceRequest]
	for i, m := range s.RequestMappings {
		item := mappings.item(i)
		container := namedContainer(&pod.Spec, m.ContainerName)
		if container == nil {
			item.of("containerName").invalid(m.ContainerName, "must match the name of an entry in spec.initContainers.name or spec.containers.name")
		} else if _, ok := container.Resources.Requests[corev1.ResourceName(m.ResourceName)]; !ok {
			item.of("resourceName").invalid(m.ResourceName,
				"must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests")
		}
		// Faults of the name of a request are put down to the whole status.
		format(at.of("requestName"), m.RequestName, dnsLabel)
		if seen.has(m) {
			item.of("containerName").duplicate(m.ContainerName)
			item.of("resourceName").duplicate(m.ResourceName)
			item.of("requestName").duplicate(m.RequestName)
		}
		seen.put(m)
	}
	needs(at.of("resourceClaimName"), s.ResourceClaimName, dnsSubdomain)
}

// namedContainer returns the last container of a name, with regular containers
// last.
func namedContainer(s *corev1.PodSpec, name string) *corev1.Container {
	for _, list := range [][]corev1.Container{s.Containers, s.InitContainers} {
		for i := len(list) - 1; i >= 0; i-- {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// allocatableClaimRules check the claims that take what a node can allocate.
func allocatableClaimRules(at *place, pod *corev1.Pod) {
	for i := range pod.Status.NodeAllocatableResourceClaimStatuses {
		s, at := &pod.Status.NodeAllocatableResourceClaimStatuses[i], at.item(i)
		name := at.of("resourceClaimName")
		if s.ResourceClaimName == "" {
			name.required("must not be empty")
		}
		is := func(claim *string) bool { return claim != nil && *claim == s.ResourceClaimName }
		if !slices.ContainsFunc(pod.Spec.ResourceClaims, func(c corev1.PodResourceClaim) bool { return is(c.ResourceClaimName) }) &&
			!slices.ContainsFunc(pod.Status.ResourceClaimStatuses, func(c corev1.PodResourceClaimStatus) bool { return is(c.ResourceClaimName) }) {
			name.invalid(s.ResourceClaimName, "no mapping found in pod reference")
		}
		if len(s.Containers) == 0 {
			at.of("containers").required("must not be empty")
		}
		if len(s.Resources) == 0 {
			at.of("resources").required("must not be empty")
		}
		for resource, q := range ordered(s.Resources) {
			key := at.of("resources").key(string(resource))
			if native := !strings.Contains(string(resource), "/") || strings.Contains(string(resource), corev1.ResourceDefaultNamespacePrefix); !native {
				key.invalid(resource, "must be a node allocatable resource name")
			}
			if q.Sign() < 0 {
				key.invalid(q.String(), "must be non-negative")
			}
		}
	}
}
