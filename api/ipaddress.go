package api

import (
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
)

// ipAddresses is a service address that is taken.
func ipAddresses() *Resource {
	return &Resource{
		Name: "ipaddresses", Singular: "ipaddress", Kind: "IPAddress",
		ShortNames: []string{"ip"},
		Versions: older(served(networkingv1.SchemeGroupVersion),
			alike[networkingv1.IPAddress, networkingv1beta1.IPAddress](networkingv1beta1.SchemeGroupVersion)),
		New:                 func() Object { return &networkingv1.IPAddress{} },
		Rows:                &Table{Columns: ipAddressColumns, Cells: ipAddressCells},
		Prefix:              "ipaddresses",
		ValidateCreate:      rulesOf(ipAddressRules),
		ValidateUpdate:      changesOf(ipAddressChanges),
		MetadataRevalidated: true,
		ValidateName:        addressName,
	}
}
