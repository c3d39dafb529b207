package api

import (
	networkingv1 "k8s.io/api/networking/v1"
)

// ingress is how HTTP from outside reaches services.
func ingress() *Resource {
	return &Resource{
		Name: "ingresses", Singular: "ingress", Kind: "Ingress",
		ShortNames:           []string{"ing"},
		Namespaced:           true,
		Versions:             older(served(networkingv1.SchemeGroupVersion), ingressV1beta1()),
		Gone:                 gone("extensions/v1beta1"),
		New:                  func() Object { return &networkingv1.Ingress{} },
		ObjectWarnings:       ingressWarnings,
		Rows:                 &Table{Columns: ingressColumns, Cells: ingressCells},
		Prefix:               "ingress",
		Validate:             rulesOf(newIngressRules),
		ValidateUpdate:       changesOf(ingressChanges),
		WholeUpdate:          true,
		ValidateStatusUpdate: changesOf(ingressStatusChanges),
		MetadataRevalidated:  true,
		Generation:           true,
		HasStatus:            true,
	}
}
