package api

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"
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
		Default:    defaultDeployment,
		// Annotations are copied to the ReplicaSets, so they count as well.
		Changed: func(obj, old Object) bool {
			return bodyChanged(obj, old) || !equality.Semantic.DeepEqual(obj.GetAnnotations(), old.GetAnnotations())
		},
	}
}

func defaultDeployment(obj Object) {
	s := &obj.(*appsv1.Deployment).Spec
	defaultTemplate(&s.Template)
	setDefault(&s.Replicas, 1)
	setDefault(&s.RevisionHistoryLimit, 10)
	setDefault(&s.ProgressDeadlineSeconds, 600)
	if s.Strategy.Type == "" {
		s.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
	}
	if s.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		return
	}
	if s.Strategy.RollingUpdate == nil {
		s.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{}
	}
	setDefault(&s.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
	setDefault(&s.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
}
