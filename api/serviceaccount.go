package api

import (
	corev1 "k8s.io/api/core/v1"
)

// serviceAccount is an identity for pods.
func serviceAccount() *Resource {
	return &Resource{
		Name: "serviceaccounts", Singular: "serviceaccount", Kind: "ServiceAccount",
		ShortNames:          []string{"sa"},
		Namespaced:          true,
		Versions:            served(corev1.SchemeGroupVersion),
		New:                 func() Object { return &corev1.ServiceAccount{} },
		Prefix:              "serviceaccounts",
		MetadataRevalidated: true,
		ReturnDeletedObject: true,
	}
}
