package api

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// deployment is a number of equal pods that are replaced step by step.
func deployment() *Resource {
	return &Resource{
		Name: "deployments", Singular: "deployment", Kind: "Deployment",
		ShortNames: []string{"deploy"},
		Categories: []string{"all"},
		Namespaced: true,
		Versions:   served(appsv1.SchemeGroupVersion),
		New:        func() Object { return &appsv1.Deployment{} },
		Prefix:     "deployments",
		Generation: true,
		HasStatus:  true,
		Default:    func(obj Object) { defaultTemplate(&obj.(*appsv1.Deployment).Spec.Template) },
		// Annotations are copied to the ReplicaSets, so they count as well.
		Changed: func(obj, old Object) bool {
			return bodyChanged(obj, old) || !equality.Semantic.DeepEqual(obj.GetAnnotations(), old.GetAnnotations())
		},
	}
}
