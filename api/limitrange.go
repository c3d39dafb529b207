package api

import (
	corev1 "k8s.io/api/core/v1"
)

// limitRange is bounds and defaults for resources in a namespace.
func limitRange() *Resource {
	return &Resource{
		Name: "limitranges", Singular: "limitrange", Kind: "LimitRange",
		ShortNames: []string{"limits"},
		Namespaced: true,
		Versions:   served(corev1.SchemeGroupVersion),
		New:        func() Object { return &corev1.LimitRange{} },
		Prefix:     "limitranges",
		Default: func(obj Object) {
			l := obj.(*corev1.LimitRange)
			for i := range l.Spec.Limits {
				defaultLimitItem(&l.Spec.Limits[i])
			}
		},
		// No limits are stored as none at all.
		PrepareCreate:       func(obj Object) { noItems(&obj.(*corev1.LimitRange).Spec.Limits) },
		PrepareUpdate:       func(obj, _ Object) { noItems(&obj.(*corev1.LimitRange).Spec.Limits) },
		Validate:            rulesOf(limitRangeRules),
		AllowCreateOnUpdate: true,
	}
}
