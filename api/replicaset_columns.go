package api

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func replicaSetColumns() []metav1.TableColumnDefinition {
	return replicaColumns(appsv1.ReplicaSetSpec{}, appsv1.ReplicaSetStatus{})
}

// replicaColumns are of what keeps a number of pods of one kind.
func replicaColumns(spec, status documented) []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(),
		numberColumn("Desired", doc(spec, "replicas")),
		numberColumn("Current", doc(status, "replicas")),
		numberColumn("Ready", doc(status, "readyReplicas")),
		ageColumn(),
		wide(containersColumn()),
		wide(imagesColumn()),
		wide(textColumn("Selector", doc(spec, "selector"))),
	}
}

func replicaSetCells(obj Object) []any {
	s := obj.(*appsv1.ReplicaSet)
	names, images := containerCells(s.Spec.Template.Spec.Containers)
	return []any{
		s.Name, int64(orEmpty(s.Spec.Replicas)), int64(s.Status.Replicas), int64(s.Status.ReadyReplicas), Age(s),
		names, images, metav1.FormatLabelSelector(s.Spec.Selector),
	}
}
