package api

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func deploymentColumns() []metav1.TableColumnDefinition {
	status := appsv1.DeploymentStatus{}
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Ready", "Number of the pod with ready state"),
		textColumn("Up-to-date", doc(status, "updatedReplicas")),
		textColumn("Available", doc(status, "availableReplicas")),
		ageColumn(),
		wide(containersColumn()),
		wide(imagesColumn()),
		wide(textColumn("Selector", doc(appsv1.DeploymentSpec{}, "selector"))),
	}
}

func deploymentCells(obj Object) []any {
	d := obj.(*appsv1.Deployment)
	names, images := containerCells(d.Spec.Template.Spec.Containers)
	// Unlike other kinds, an empty selector shows as nothing at all.
	chosen := "<invalid>"
	if selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector); err == nil {
		chosen = selector.String()
	}
	return []any{
		d.Name, ratio(d.Status.ReadyReplicas, orEmpty(d.Spec.Replicas)),
		int64(d.Status.UpdatedReplicas), int64(d.Status.AvailableReplicas), Age(d),
		names, images, chosen,
	}
}
