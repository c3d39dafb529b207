package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func replicationControllerColumns() []metav1.TableColumnDefinition {
	return replicaColumns(corev1.ReplicationControllerSpec{}, corev1.ReplicationControllerStatus{})
}

func replicationControllerCells(obj Object) []any {
	c := obj.(*corev1.ReplicationController)
	names, images := containerCells(orEmpty(c.Spec.Template).Spec.Containers)
	return []any{
		c.Name, int64(orEmpty(c.Spec.Replicas)), int64(c.Status.Replicas), int64(c.Status.ReadyReplicas), Age(c),
		names, images, labels.FormatLabels(c.Spec.Selector),
	}
}
