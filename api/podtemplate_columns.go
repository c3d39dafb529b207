package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func podTemplateColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(), containersColumn(), imagesColumn(), textColumn("Pod Labels", "The labels for the pod template."),
	}
}

func podTemplateCells(obj Object) []any {
	t := obj.(*corev1.PodTemplate)
	names, images := containerCells(t.Template.Spec.Containers)
	return []any{t.Name, names, images, labels.FormatLabels(t.Template.Labels)}
}
