package api

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

func serviceCIDRRules(at *place, c *networkingv1.ServiceCIDR) {
	at = at.of("spec").of("cidrs")
	switch cidrs := c.Spec.CIDRs; {
	case len(cidrs) == 0:
		at.required("at least one CIDR required")
	case len(cidrs) > 2:
		at.invalid(c.Spec, "may only hold up to 2 values")
	default:
		for i, cidr := range cidrs {
			at.add(utilvalidation.IsValidCIDR(at.item(i).path(), cidr)...)
		}
		if len(cidrs) == 2 && !bothFamilies(cidrs) {
			at.invalid(cidrs, "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64")
		}
	}
}

// serviceCIDRChanges: a range can get one of the other family beside it, and
// nothing else.
func serviceCIDRChanges(at *place, is, was *networkingv1.ServiceCIDR) {
	at = at.of("spec").of("cidrs")
	now, before := is.Spec.CIDRs, was.Spec.CIDRs
	switch {
	case len(now) == len(before), len(now) == 2 && len(before) == 1:
		for i := range before {
			fixed(at.item(i), now[i], before[i])
		}
		if len(now) > len(before) {
			serviceCIDRRules(at.up.up, is)
		}
	default:
		at.invalid(now, validation.FieldImmutableErrorMsg)
	}
}

func ipAddressRules(at *place, a *networkingv1.IPAddress) {
	parent := at.of("spec").of("parentRef")
	r := a.Spec.ParentRef
	if r == nil {
		parent.required("")
		return
	}
	optional(parent.of("group"), r.Group, dnsSubdomain)
	needs(parent.of("resource"), r.Resource, segment)
	needs(parent.of("name"), r.Name, segment)
	optional(parent.of("namespace"), r.Namespace, segment)
}

func ipAddressChanges(at *place, is, was *networkingv1.IPAddress) {
	fixed(at.of("spec").of("parentRef"), is.Spec.ParentRef, was.Spec.ParentRef)
}
