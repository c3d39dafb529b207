package api

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func statefulSetColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Ready", "Number of the pod with ready state"),
		ageColumn(),
		wide(containersColumn()),
		wide(imagesColumn()),
	}
}

func statefulSetCells(obj Object) []any {
	s := obj.(*appsv1.StatefulSet)
	names, images := containerCells(s.Spec.Template.Spec.Containers)
	return []any{s.Name, ratio(s.Status.ReadyReplicas, orEmpty(s.Spec.Replicas)), Age(s), names, images}
}
