package api

import (
	appsv1 "k8s.io/api/apps/v1"
)

// replicaSet is a number of equal pods.
func replicaSet() *Resource {
	return &Resource{
		Name: "replicasets", Singular: "replicaset", Kind: "ReplicaSet",
		ShortNames: []string{"rs"},
		Categories: []string{"all"},
		Namespaced: true,
		Versions:   served(appsv1.SchemeGroupVersion),
		New:        func() Object { return &appsv1.ReplicaSet{} },
		Prefix:     "replicasets",
		Generation: true,
		HasStatus:  true,
		Default:    defaultReplicaSet,
	}
}

func defaultReplicaSet(obj Object) {
	s := &obj.(*appsv1.ReplicaSet).Spec
	defaultTemplate(&s.Template)
	setDefault(&s.Replicas, 1)
}
