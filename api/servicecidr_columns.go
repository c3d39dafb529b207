package api

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func serviceCIDRColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{nameColumn(), textColumn("CIDRs", doc(networkingv1.ServiceCIDRSpec{}, "cidrs")), ageColumn()}
}

func serviceCIDRCells(obj Object) []any {
	c := obj.(*networkingv1.ServiceCIDR)
	return []any{c.Name, strings.Join(c.Spec.CIDRs, ","), Age(c)}
}
