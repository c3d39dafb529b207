package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func replicationControllerColumns() []metav1.TableColumnDefinition {
	spec, status := corev1.ReplicationControllerSpec{}, corev1.ReplicationControllerStatus{}
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

func replicationControllerCells(obj Object) []any {
	c := obj.(*corev1.ReplicationController)
	names, images := containerCells(orEmpty(c.Spec.Template).Spec.Containers)
	return []any{
		c.Name, int64(orEmpty(c.Spec.Replicas)), int64(c.Status.Replicas), int64(c.Status.ReadyReplicas), Age(c),
		names, images, labels.FormatLabels(c.Spec.Selector),
	}
}
