package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// podLevel is whether and how resources at pod level are completed and classified, which Kubernetes
// 1.37 has changed behind gates.
type podLevel struct {
	// disabled: resources at pod level have no meaning.
	disabled bool
	// afterAdmission: resources are completed when a pod is created or resized, with the containers
	// that webhooks have added. Else requests are completed together with other defaults.
	afterAdmission bool
	// emptyCounts: empty resources at pod level count instead of those of the containers.
	emptyCounts bool
}

func podLevelOf(gates features.Gates) podLevel {
	return podLevel{
		disabled:       !gates.Enabled(features.PodLevelResources),
		afterAdmission: gates.Enabled(features.PodLevelResourcesFixDefaulting),
		emptyCounts:    !gates.Enabled(features.PodLevelResourcesFixKubeletQOSClass),
	}
}

// setDefaults completes the resources of a decoded pod: limits of huge pages are those of the
// containers, and requests of a pod with limits are those of the containers or else the limits.
func (l podLevel) setDefaults(s *corev1.PodSpec) {
	r := s.Resources
	if l.disabled || l.afterAdmission || !hasPodResources(r) {
		return
	}
	l.limitHugePages(s)
	if len(r.Limits) > 0 {
		l.request(s)
	}
}

// complete completes the resources of a new or resized pod: requests are those of the containers
// or, if they have none, the limits at pod level; limits are those of the containers if all have
// one.
func (l podLevel) complete(s *corev1.PodSpec) {
	r := s.Resources
	if l.disabled || !l.afterAdmission || !hasPodResources(r) {
		return
	}
	l.limitHugePages(s)
	l.request(s)
	limits := containerLimits(s)
	for name, requested := range r.Requests {
		if q, ok := limits[name]; ok && allLimit(s, name) {
			if requested.Cmp(q) > 0 {
				q = requested
			}
			l.set(&r.Limits, name, q)
		}
	}
}

func (l podLevel) limitHugePages(s *corev1.PodSpec) {
	for name, q := range containerLimits(s) {
		if _, ok := s.Resources.Requests[name]; validation.IsHugePages(name) && !ok {
			l.set(&s.Resources.Limits, name, q)
		}
	}
}

func (l podLevel) request(s *corev1.PodSpec) {
	for name, q := range containerRequests(s) {
		if !validation.IsHugePages(name) {
			l.set(&s.Resources.Requests, name, q)
		}
	}
	for name, q := range s.Resources.Limits {
		l.set(&s.Resources.Requests, name, q)
	}
}

// set sets an amount that is missing and that pods can have.
func (podLevel) set(list *corev1.ResourceList, name corev1.ResourceName, q resource.Quantity) {
	if _, ok := (*list)[name]; ok || !podWide(name) {
		return
	}
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[name] = q.DeepCopy()
}

// keep restores the resources at pod level, which old clients leave out.
func (l podLevel) keep(p, old *corev1.Pod) {
	if l.afterAdmission && p.Spec.Resources == nil {
		p.Spec.Resources = old.Spec.Resources.DeepCopy()
	}
}

// class returns the quality of service class of a pod: Guaranteed if every container has
// equal limits and requests of CPU and memory, BestEffort if none has any, else Burstable.
// Resources at pod level, if there are any, count instead of those of containers.
func (l podLevel) class(s *corev1.PodSpec) corev1.PodQOSClass {
	if r := s.Resources; r != nil && !l.disabled && (l.emptyCounts || hasPodResources(r)) {
		return requirementsQOS(r)
	}
	return containersQOS(s)
}

// allLimit reports whether all containers have a limit of a resource.
func allLimit(s *corev1.PodSpec, name corev1.ResourceName) bool {
	all := true
	eachContainerOf(s, func(ctr *corev1.Container) {
		if _, ok := ctr.Resources.Limits[name]; !ok {
			all = false
		}
	})
	return all
}

// podWide reports whether a resource can be set at pod level.
func podWide(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || validation.IsHugePages(name)
}
