package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func namespaceColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{nameColumn(), textColumn("Status", "The status of the namespace"), ageColumn()}
}

func namespaceCells(obj Object) []any {
	n := obj.(*corev1.Namespace)
	return []any{n.Name, string(n.Status.Phase), Age(n)}
}
