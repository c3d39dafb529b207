package networking

import (
	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	netutils "k8s.io/utils/net"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

func serviceCIDRRules(at *validation.Path, c *networkingv1.ServiceCIDR) {
	at = at.Child("spec").Child("cidrs")
	switch cidrs := c.Spec.CIDRs; {
	case len(cidrs) == 0:
		at.Required("at least one CIDR required")
	case len(cidrs) > 2:
		at.Invalid(c.Spec, "may only hold up to 2 values")
	default:
		for i, cidr := range cidrs {
			at.Add(utilvalidation.IsValidCIDR(at.Index(i).ToField(), cidr)...)
		}
		if len(cidrs) == 2 && sameFamily(cidrs) {
			at.Invalid(cidrs, "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64")
		}
	}
}

// serviceCIDRChanges only permits adding a range of the other IP family.
func serviceCIDRChanges(at *validation.Path, obj, old *networkingv1.ServiceCIDR) {
	at = at.Child("spec").Child("cidrs")
	now, before := obj.Spec.CIDRs, old.Spec.CIDRs
	switch {
	case len(now) == len(before), len(now) == 2 && len(before) == 1:
		for i := range before {
			validation.Immutable(at.Index(i), now[i], before[i])
		}
		if len(now) > len(before) {
			serviceCIDRRules(at.Parent.Parent, obj)
		}
	default:
		at.Invalid(now, apivalidation.FieldImmutableErrorMsg)
	}
}

func ipAddressRules(at *validation.Path, a *networkingv1.IPAddress) {
	parent := at.Child("spec").Child("parentRef")
	r := a.Spec.ParentRef
	if r == nil {
		parent.Required("")
		return
	}
	validation.OptionalFormat(parent.Child("group"), r.Group, validation.DNSSubdomain)
	validation.RequiredFormat(parent.Child("resource"), r.Resource, validation.Segment)
	validation.RequiredFormat(parent.Child("name"), r.Name, validation.Segment)
	validation.OptionalFormat(parent.Child("namespace"), r.Namespace, validation.Segment)
}

func ipAddressChanges(at *validation.Path, obj, old *networkingv1.IPAddress) {
	ipAddressRules(at, obj)
	validation.Immutable(at.Child("spec").Child("parentRef"), obj.Spec.ParentRef, old.Spec.ParentRef)
}

// sameFamily reports whether both CIDRs are of one IP family. A malformed CIDR has none.
func sameFamily(cidrs []string) bool {
	family := netutils.IPFamilyOfCIDRString(cidrs[0])
	return family != netutils.IPFamilyUnknown && family == netutils.IPFamilyOfCIDRString(cidrs[1])
}
