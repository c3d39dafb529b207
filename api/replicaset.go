package api

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// replicaSet is a number of equal pods.
func replicaSet() *Resource {
	return withPodTemplate(replicaSetTemplate, &Resource{
		Name: "replicasets", Singular: "replicaset", Kind: "ReplicaSet",
		ShortNames:           []string{"rs"},
		Categories:           []string{"all"},
		Namespaced:           true,
		Versions:             served(appsv1.SchemeGroupVersion),
		Gone:                 gone("apps/v1beta2", "extensions/v1beta1"),
		Complete:             func(obj Object) { obj.(*appsv1.ReplicaSet).Spec.Replicas = new(int32) },
		New:                  func() Object { return &appsv1.ReplicaSet{} },
		ObjectWarnings:       templateWarnings(replicaSetTemplate, "spec", "template"),
		Rows:                 &Table{Columns: replicaSetColumns, Cells: replicaSetCells},
		Subresources:         []*Subresource{scaleReplicaSet()},
		Prefix:               "replicasets",
		Generation:           true,
		HasStatus:            true,
		Default:              defaultReplicaSet,
		Validate:             rulesOf(replicaSetRules),
		ValidateUpdate:       changesOf(replicaSetChanges),
		WholeUpdate:          true,
		ValidateStatusUpdate: changesOf(replicaSetStatusChanges),
	})
}

func replicaSetTemplate(obj Object) *corev1.PodTemplateSpec {
	return &obj.(*appsv1.ReplicaSet).Spec.Template
}

func defaultReplicaSet(obj Object) {
	s := &obj.(*appsv1.ReplicaSet).Spec
	defaultTemplate(&s.Template)
	setDefault(&s.Replicas, 1)
}

// scaleReplicaSet is where the replicas of a ReplicaSet are.
func scaleReplicaSet() *Subresource {
	return scale(scaled{
		replicas: map[string]string{"apps/v1": replicasPath, "apps/v1beta2": replicasPath},
		wanted:   func(obj Object) **int32 { return &obj.(*appsv1.ReplicaSet).Spec.Replicas },
		current:  func(obj Object) int32 { return obj.(*appsv1.ReplicaSet).Status.Replicas },
		selector: func(obj Object) (string, error) { return selectorText(obj.(*appsv1.ReplicaSet).Spec.Selector) },
	})
}
