package api

import (
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
)

// serviceCIDR is a range that service addresses are taken from.
func serviceCIDR() *Resource {
	return &Resource{
		Name: "servicecidrs", Singular: "servicecidr", Kind: "ServiceCIDR",
		Versions: older(served(networkingv1.SchemeGroupVersion),
			alike[networkingv1.ServiceCIDR, networkingv1beta1.ServiceCIDR](networkingv1beta1.SchemeGroupVersion)),
		New:            func() Object { return &networkingv1.ServiceCIDR{} },
		Rows:           &Table{Columns: serviceCIDRColumns, Cells: serviceCIDRCells},
		Prefix:         "servicecidrs",
		ValidateCreate: rulesOf(serviceCIDRRules),
		ValidateUpdate: changesOf(serviceCIDRChanges),
		HasStatus:      true,
	}
}
