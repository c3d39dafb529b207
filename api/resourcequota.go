package api

import (
	corev1 "k8s.io/api/core/v1"
)

// resourceQuota is how much a namespace may use.
func resourceQuota() *Resource {
	return &Resource{
		Name: "resourcequotas", Singular: "resourcequota", Kind: "ResourceQuota",
		ShortNames: []string{"quota"},
		Namespaced: true,
		Versions:   served(corev1.SchemeGroupVersion),
		New:        func() Object { return &corev1.ResourceQuota{} },
		Rows:       &Table{Columns: resourceQuotaColumns, Cells: resourceQuotaCells},
		Prefix:     "resourcequotas",
		Default: func(obj Object) {
			q := obj.(*corev1.ResourceQuota)
			wholeMillis(q.Spec.Hard)
			wholeMillis(q.Status.Hard)
			wholeMillis(q.Status.Used)
		},
		ValidateCreate:       rulesOf(resourceQuotaRules),
		ValidateUpdate:       changesOf(resourceQuotaChanges),
		ValidateStatusUpdate: changesOf(resourceQuotaStatusRules),
		ReturnDeletedObject:  true,
		HasStatus:            true,
	}
}
