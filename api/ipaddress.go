package api

import (
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
)

// ipAddress is a service address that is taken.
func ipAddress() *Resource {
	return &Resource{
		Name: "ipaddresses", Singular: "ipaddress", Kind: "IPAddress",
		ShortNames:          []string{"ip"},
		Versions:            readable(served(networkingv1.SchemeGroupVersion), networkingv1beta1.SchemeGroupVersion),
		New:                 func() Object { return &networkingv1.IPAddress{} },
		Prefix:              "ipaddresses",
		MetadataRevalidated: true,
		ValidateName:        addressName,
	}
}
