package api

import (
	appsv1 "k8s.io/api/apps/v1"
)

// statefulSet is pods with names and storage of their own.
func statefulSet() *Resource {
	return &Resource{
		Name: "statefulsets", Singular: "statefulset", Kind: "StatefulSet",
		ShortNames: []string{"sts"},
		Categories: []string{"all"},
		Namespaced: true,
		Versions:   served(appsv1.SchemeGroupVersion),
		New:        func() Object { return &appsv1.StatefulSet{} },
		Prefix:     "statefulsets",
		Generation: true,
		HasStatus:  true,
		Default:    func(obj Object) { defaultTemplate(&obj.(*appsv1.StatefulSet).Spec.Template) },
	}
}
