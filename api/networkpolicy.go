package api

import (
	networkingv1 "k8s.io/api/networking/v1"
)

// networkPolicy is what traffic pods may have.
func networkPolicy() *Resource {
	return &Resource{
		Name: "networkpolicies", Singular: "networkpolicy", Kind: "NetworkPolicy",
		ShortNames:     []string{"netpol"},
		Namespaced:     true,
		Versions:       served(networkingv1.SchemeGroupVersion),
		Gone:           gone("extensions/v1beta1"),
		New:            func() Object { return &networkingv1.NetworkPolicy{} },
		ObjectWarnings: networkPolicyWarnings,
		Rows:           &Table{Columns: networkPolicyColumns, Cells: networkPolicyCells},
		Prefix:         "networkpolicies",
		Default:        defaultNetworkPolicy,
		Validate:       rulesOf(networkPolicyRules),
		ValidateUpdate: changesOf(networkPolicyChanges),
		WholeUpdate:    true,
		Generation:     true,
	}
}
