package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/miniapiserver/miniapiserver/internal/bounds"
)

func (c *podCheck) containerResourceRules(at *place, r *corev1.ResourceRequirements) {
	c.resourceRules(at, r, containerResourceName)
	c.claimRefRules(at.of("claims"), r.Claims)
}

// resourceRules are for what may be used and what is set apart. name is the rule
// for the names of resources.
func (c *podCheck) resourceRules(at *place, r *corev1.ResourceRequirements, name func(at *place, name corev1.ResourceName)) {
	limits, requests := at.of("limits"), at.of("requests")
	compute, pages := false, false
	one := func(at *place, n corev1.ResourceName, q resource.Quantity) {
		name(at, n)
		amount(at, n, q)
		compute = compute || n == corev1.ResourceCPU || n == corev1.ResourceMemory
		if hugePages(n) {
			pages = true
			c.hugePageRules(at, n, q)
		}
	}
	for n, q := range ordered(r.Limits) {
		one(limits.key(string(n)), n, q)
	}
	for n, q := range ordered(r.Requests) {
		one(requests.key(string(n)), n, q)
		limit, ok := r.Limits[n]
		switch {
		case ok && !overcommits(n) && q.Cmp(limit) != 0:
			requests.invalid(q.String(), fmt.Sprintf("must be equal to %s limit of %s", n, limit.String()))
		case ok && q.Cmp(limit) > 0:
			requests.invalid(q.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", n, limit.String()))
		case !ok && !overcommits(n):
			limits.required("Limit must be set for non overcommitable resources")
		}
	}
	if pages && !compute {
		at.forbidden("HugePages require cpu or memory")
	}
}

// ordered goes through resources by name. A list of one needs no sorting.
func ordered(list corev1.ResourceList) func(yield func(corev1.ResourceName, resource.Quantity) bool) {
	return func(yield func(corev1.ResourceName, resource.Quantity) bool) {
		if len(list) < 2 {
			maps.All(list)(yield)
			return
		}
		names := make([]corev1.ResourceName, 0, 8)
		for n := range list {
			names = append(names, n)
		}
		slices.Sort(names)
		for _, n := range names {
			if !yield(n, list[n]) {
				return
			}
		}
	}
}

func hugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// overcommits tells of resources of which more may be promised than there is.
func overcommits(name corev1.ResourceName) bool {
	native := bare(name) || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
	return native && !hugePages(name)
}

func (c *podCheck) hugePageRules(at *place, name corev1.ResourceName, q resource.Quantity) {
	if c.lenient.hugePages {
		return
	}
	text := strings.TrimPrefix(string(name), corev1.ResourceHugePagesPrefix)
	var size resource.Quantity
	err := bounds.Quantity(text)
	if err == nil {
		size, err = resource.ParseQuantity(text)
	}
	if err != nil || size.Sign() <= 0 || size.MilliValue()%1000 != 0 || q.Value()%size.Value() != 0 {
		at.invalid(q.String(), fmt.Sprintf("%s is not positive integer multiple of %s", q.String(), name))
	}
}

// resourceName is for names of resources of all sorts.
func resourceName(at *place, name corev1.ResourceName) bool {
	faults := qualifiedName(string(name))
	for _, fault := range faults {
		at.invalid(name, fault)
	}
	if len(faults) > 0 {
		return false
	}
	if bare(name) && !standardResource(name) {
		at.invalid(name, "must be a standard resource type or fully qualified")
		return false
	}
	return true
}

func containerResourceName(at *place, name corev1.ResourceName) {
	resourceName(at, name)
	switch {
	case bare(name):
		if !containerResource(name) {
			at.invalid(name, "must be a standard resource for containers")
		}
	case !strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix) && !extendedResource(name):
		at.invalid(name, "doesn't follow extended resource name standard")
	}
}

// containerResource tells of the resources without a domain that containers use.
func containerResource(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage || hugePages(name)
}

// standardResource tells of all resources without a domain.
func standardResource(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage,
		corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage,
		corev1.ResourcePods, corev1.ResourceQuotas, corev1.ResourceServices, corev1.ResourceReplicationControllers,
		corev1.ResourceSecrets, corev1.ResourceConfigMaps, corev1.ResourcePersistentVolumeClaims, corev1.ResourceStorage,
		corev1.ResourceRequestsStorage, corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers:
		return true
	}
	return containerResource(name) || strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix)
}

// claimRefRules are for devices that a container uses of those that the pod
// claims: a whole claim, or some of its requests.
func (c *podCheck) claimRefRules(at *place, list []corev1.ResourceClaim) {
	var seen unique[corev1.ResourceClaim]
	for i, claim := range list {
		at := at.item(i)
		if !required(at, claim.Name) {
			continue
		}
		c.claimOnce(at, claim, list[:i], &seen)
		seen.put(claim)
		known := slices.ContainsFunc(c.spec.ResourceClaims, func(p corev1.PodResourceClaim) bool { return p.Name == claim.Name })
		if !known {
			at.add(c.unknownClaim(at, claim.Name))
		}
	}
}

func (c *podCheck) claimOnce(at *place, claim corev1.ResourceClaim, before []corev1.ResourceClaim, seen *unique[corev1.ResourceClaim]) {
	if seen.has(corev1.ResourceClaim{Name: claim.Name}) {
		at.duplicate(claim.Name)
		return
	}
	if claim.Request != "" {
		format(at.of("request"), claim.Request, dnsLabel)
		if seen.has(claim) {
			at.duplicate(claim.Name + "/" + claim.Request)
		}
		return
	}
	for _, b := range before {
		if b.Name == claim.Name {
			at.duplicate(claim.Name)
		}
	}
}
