package api

import (
	corev1 "k8s.io/api/core/v1"
)

// resourceQuota is how much a namespace may use.
func resourceQuota() *Resource {
	return &Resource{
		Name: "resourcequotas", Singular: "resourcequota", Kind: "ResourceQuota",
		ShortNames:          []string{"quota"},
		Namespaced:          true,
		Versions:            served(corev1.SchemeGroupVersion),
		New:                 func() Object { return &corev1.ResourceQuota{} },
		Prefix:              "resourcequotas",
		ReturnDeletedObject: true,
		HasStatus:           true,
	}
}
