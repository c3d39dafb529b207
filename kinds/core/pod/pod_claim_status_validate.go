package pod

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// extendedClaimRules validates the status of the claim that the scheduler created for extended
// resources of a pod.
func extendedClaimRules(at *validation.Path, pod *corev1.Pod) {
	s := pod.Status.ExtendedResourceClaimStatus
	if s == nil {
		return
	}
	mappings := at.Child("requestMappings")
	if len(s.RequestMappings) == 0 {
		mappings.Required("at least one request mapping is required")
	}
	var seen validation.Unique[corev1.ContainerExtendedResourceRequest]
	named := lastContainers(&pod.Spec)
	for i, m := range s.RequestMappings {
		item := mappings.Index(i)
		container := named[m.ContainerName]
		if container == nil {
			item.Child("containerName").Invalid(m.ContainerName,
				"must match the name of an entry in spec.initContainers.name or spec.containers.name")
		} else if _, ok := container.Resources.Requests[corev1.ResourceName(m.ResourceName)]; !ok {
			item.Child("resourceName").Invalid(m.ResourceName,
				"must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests")
		}
		// Errors of the request name have the path of the status, as in kube-apiserver.
		validation.Format(at.Child("requestName"), m.RequestName, validation.DNSLabel)
		if seen.Has(m) {
			item.Child("containerName").Duplicate(m.ContainerName)
			item.Child("resourceName").Duplicate(m.ResourceName)
			item.Child("requestName").Duplicate(m.RequestName)
		}
		seen.Insert(m)
	}
	validation.RequiredFormat(at.Child("resourceClaimName"), s.ResourceClaimName, validation.DNSSubdomain)
}

// lastContainers returns the last container of each name; regular containers are after the init
// containers.
func lastContainers(s *corev1.PodSpec) map[string]*corev1.Container {
	named := make(map[string]*corev1.Container, len(s.InitContainers)+len(s.Containers))
	for _, list := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range list {
			named[list[i].Name] = &list[i]
		}
	}
	return named
}

// allocatableClaimRules validates the status of claims that use allocatable resources of the
// node.
func allocatableClaimRules(at *validation.Path, pod *corev1.Pod) {
	specified := validation.IndexOf(pod.Spec.ResourceClaims,
		func(c *corev1.PodResourceClaim) string { return ptr.Deref(c.ResourceClaimName, "") })
	created := validation.IndexOf(pod.Status.ResourceClaimStatuses,
		func(c *corev1.PodResourceClaimStatus) string { return ptr.Deref(c.ResourceClaimName, "") })
	for i := range pod.Status.NodeAllocatableResourceClaimStatuses {
		s, at := &pod.Status.NodeAllocatableResourceClaimStatuses[i], at.Index(i)
		name := at.Child("resourceClaimName")
		if s.ResourceClaimName == "" {
			continue // the declarative rules require it
		}
		if !specified.Has(s.ResourceClaimName) && !created.Has(s.ResourceClaimName) {
			name.Invalid(s.ResourceClaimName, "no mapping found in pod reference")
		}
		validation.Each(at.Child("mapping"), s.Mapping, func(at *validation.Path, m *corev1.NodeAllocatableMappedResources) {
			allocatableResourceRules(at.Child("name"), m.Name)
			nonNegativeRule(at.Child("quantity"), m.Quantity)
		})
		validation.Each(at.Child("overhead"), s.Overhead, func(at *validation.Path, o *corev1.NodeAllocatableOverheadResources) {
			allocatableResourceRules(at.Child("name"), o.Name)
			if o.PerPod == nil && o.PerContainer == nil {
				at.Invalid("", "at least one of perPod or perContainer must be set")
			}
			nonNegativeRule(at.Child("perPod"), o.PerPod)
			nonNegativeRule(at.Child("perContainer"), o.PerContainer)
		})
	}
}

// allocatableResourceRules validates the name of a resource of nodes.
func allocatableResourceRules(at *validation.Path, name corev1.ResourceName) {
	if native := !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix); !native {
		at.Invalid(name, "must be a node allocatable resource name")
	}
}

// nonNegativeRule refuses a quantity below zero.
func nonNegativeRule(at *validation.Path, q *resource.Quantity) {
	if q != nil && q.Sign() < 0 {
		at.Invalid(q.String(), "must be non-negative")
	}
}
