package api

import (
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
)

// ingressClass is which controller an Ingress is meant for.
func ingressClass() *Resource {
	return &Resource{
		Name: "ingressclasses", Singular: "ingressclass", Kind: "IngressClass",
		Versions: older(served(networkingv1.SchemeGroupVersion),
			alike[networkingv1.IngressClass, networkingv1beta1.IngressClass](networkingv1beta1.SchemeGroupVersion)),
		New:                 func() Object { return &networkingv1.IngressClass{} },
		Rows:                &Table{Columns: ingressClassColumns, Cells: ingressClassCells},
		Prefix:              "ingressclasses",
		Default:             defaultIngressClass,
		Validate:            rulesOf(ingressClassRules),
		ValidateUpdate:      changesOf(ingressClassChanges),
		WholeUpdate:         true,
		MetadataRevalidated: true,
		Generation:          true,
	}
}
