package pod

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
)

func (c *podCheck) containerResourceRules(at *validation.Path, r *corev1.ResourceRequirements) {
	c.resourceRules(at, r, validation.ContainerResourceName)
	c.claimRefRules(at.Child("claims"), r.Claims)
}

// LimitRules validates resources as the limits of a container.
func LimitRules(at *validation.Path, limits corev1.ResourceList) {
	new(podCheck).resourceRules(at, &corev1.ResourceRequirements{Limits: limits}, validation.ContainerResourceName)
}

// resourceRules validates limits and requests. name validates the names of resources.
func (c *podCheck) resourceRules(at *validation.Path, r *corev1.ResourceRequirements,
	name func(at *validation.Path, name corev1.ResourceName)) {
	limits, requests := at.Child("limits"), at.Child("requests")
	compute, pages := false, false
	one := func(at *validation.Path, n corev1.ResourceName, q resource.Quantity) {
		name(at, n)
		validation.ResourceQuantity(at, n, q)
		compute = compute || n == corev1.ResourceCPU || n == corev1.ResourceMemory
	}
	huge := func(at *validation.Path, n corev1.ResourceName, q resource.Quantity) {
		if validation.IsHugePages(n) {
			pages = true
			c.hugePageRules(at, n, q)
		}
	}
	for n, q := range sortedResources(r.Limits) {
		one(limits.Key(string(n)), n, q)
		huge(limits.Key(string(n)), n, q)
	}
	for n, q := range sortedResources(r.Requests) {
		one(requests.Key(string(n)), n, q)
		limit, ok := r.Limits[n]
		switch {
		case ok && !AllowsOvercommit(n) && q.Cmp(limit) != 0:
			requests.Invalid(q.String(), fmt.Sprintf("must be equal to %s limit of %s", n, limit.String()))
		case ok && q.Cmp(limit) > 0:
			requests.Invalid(q.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", n, limit.String()))
		case !ok && !AllowsOvercommit(n):
			limits.Required("Limit must be set for non overcommitable resources")
		}
		huge(requests.Key(string(n)), n, q)
	}
	if pages && !compute {
		at.Forbidden("HugePages require cpu or memory")
	}
}

// sortedResources iterates over resources by name, so that errors have a fixed order. A list
// of one is not sorted, to save time.
func sortedResources(list corev1.ResourceList) func(yield func(corev1.ResourceName, resource.Quantity) bool) {
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

// AllowsOvercommit reports whether requests of a resource may be lower than its limits: true
// for the resources of Kubernetes except huge pages.
func AllowsOvercommit(name corev1.ResourceName) bool {
	native := validation.IsUnprefixed(name) || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
	return native && !validation.IsHugePages(name)
}

func (c *podCheck) hugePageRules(at *validation.Path, name corev1.ResourceName, q resource.Quantity) {
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
		at.Invalid(q.String(), fmt.Sprintf("%s is not positive integer multiple of %s", q.String(), name))
	}
}

// claimRefRules validates the references of a container to claims of the pod: to a claim, or
// to one request of it.
func (c *podCheck) claimRefRules(at *validation.Path, list []corev1.ResourceClaim) {
	var seen validation.Unique[corev1.ResourceClaim]
	var names, known validation.Unique[string]
	for i := range c.spec.ResourceClaims {
		known.Insert(c.spec.ResourceClaims[i].Name)
	}
	for i, claim := range list {
		at := at.Index(i)
		if !validation.Required(at, claim.Name) {
			continue
		}
		before := list[:i]
		if !names.Has(claim.Name) {
			before = nil // which also keeps the cost linear
		}
		c.claimOnce(at, claim, before, &seen)
		seen.Insert(claim)
		names.Insert(claim.Name)
		if !known.Has(claim.Name) {
			at.Add(c.unknownClaim(at, claim.Name))
		}
	}
}

func (c *podCheck) claimOnce(at *validation.Path, claim corev1.ResourceClaim, before []corev1.ResourceClaim,
	seen *validation.Unique[corev1.ResourceClaim]) {
	if seen.Has(corev1.ResourceClaim{Name: claim.Name}) {
		at.Duplicate(claim.Name)
		return
	}
	if claim.Request != "" {
		validation.Format(at.Child("request"), claim.Request, validation.DNSLabel)
		if seen.Has(claim) {
			at.Duplicate(claim.Name + "/" + claim.Request)
		}
		return
	}
	for _, b := range before {
		if b.Name == claim.Name {
			at.Duplicate(claim.Name)
		}
	}
}
