package api

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func daemonSetColumns() []metav1.TableColumnDefinition {
	status := appsv1.DaemonSetStatus{}
	return []metav1.TableColumnDefinition{
		nameColumn(),
		numberColumn("Desired", doc(status, "desiredNumberScheduled")),
		numberColumn("Current", doc(status, "currentNumberScheduled")),
		numberColumn("Ready", doc(status, "numberReady")),
		numberColumn("Up-to-date", doc(status, "updatedNumberScheduled")),
		numberColumn("Available", doc(status, "numberAvailable")),
		textColumn("Node Selector", doc(corev1.PodSpec{}, "nodeSelector")),
		ageColumn(),
		wide(containersColumn()),
		wide(imagesColumn()),
		wide(textColumn("Selector", doc(appsv1.DaemonSetSpec{}, "selector"))),
	}
}

func daemonSetCells(obj Object) []any {
	d := obj.(*appsv1.DaemonSet)
	pod, s := &d.Spec.Template.Spec, &d.Status
	names, images := containerCells(pod.Containers)
	return []any{
		d.Name, int64(s.DesiredNumberScheduled), int64(s.CurrentNumberScheduled), int64(s.NumberReady),
		int64(s.UpdatedNumberScheduled), int64(s.NumberAvailable), labels.FormatLabels(pod.NodeSelector), Age(d),
		names, images, metav1.FormatLabelSelector(d.Spec.Selector),
	}
}
