package controllers

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestOutlasts checks in which order ServiceCIDRs end that were deleted together: of two, one relies on the other for its
// addresses, and never each on the other.
func TestOutlasts(t *testing.T) {
	made := func(name string, isDeleted bool, cidrs ...string) *networkingv1.ServiceCIDR {
		r := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: cidrs}}
		if isDeleted {
			r.DeletionTimestamp = &metav1.Time{}
		}
		return r
	}
	part := made("part", true, "10.1.0.0/28")
	for _, c := range []struct {
		other *networkingv1.ServiceCIDR
		want  bool
	}{
		{made("stays", false, "10.1.0.0/30"), true},
		{made("contains-it", true, "10.1.0.0/24"), true},
		{made("within-it", true, "10.1.0.0/30"), false},
		{made("before", true, "10.1.0.0/28"), true},
		{made("sooner", true, "10.1.0.0/28"), false},
		{made("dual", true, "10.1.0.0/24", "fd00::/112"), true},
	} {
		if got := outlasts(c.other, part); got != c.want {
			t.Errorf("%s: %t", c.other.Name, got)
		}
		if c.other.DeletionTimestamp != nil && outlasts(part, c.other) == c.want {
			t.Errorf("%s: each or none outlasts the other", c.other.Name)
		}
	}
}
