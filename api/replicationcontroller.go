package api

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// replicationController is a number of equal pods, in the way of before
// ReplicaSets.
func replicationController() *Resource {
	return &Resource{
		Name: "replicationcontrollers", Singular: "replicationcontroller", Kind: "ReplicationController",
		ShortNames:          []string{"rc"},
		Categories:          []string{"all"},
		Namespaced:          true,
		Versions:            selectable(served(corev1.SchemeGroupVersion), nameLabel, namespaceLabel, "status.replicas"),
		New:                 func() Object { return &corev1.ReplicationController{} },
		Prefix:              "controllers",
		MetadataRevalidated: true,
		Generation:          true,
		HasStatus:           true,
		Default: func(obj Object) {
			if t := obj.(*corev1.ReplicationController).Spec.Template; t != nil {
				defaultTemplate(t)
			}
		},
		Fields: func(obj Object) map[string]string {
			replicas := obj.(*corev1.ReplicationController).Status.Replicas
			return map[string]string{"status.replicas": strconv.Itoa(int(replicas))}
		},
	}
}
