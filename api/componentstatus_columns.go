package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func componentStatusColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Status", "Status of the component conditions"),
		textColumn("Message", "Message of the component conditions"),
		textColumn("Error", "Error of the component conditions"),
	}
}

func componentStatusCells(obj Object) []any {
	s := obj.(*corev1.ComponentStatus)
	for _, c := range s.Conditions {
		switch {
		case c.Type != corev1.ComponentHealthy:
		case c.Status == corev1.ConditionTrue:
			return []any{s.Name, "Healthy", c.Message, c.Error}
		default:
			return []any{s.Name, "Unhealthy", c.Message, c.Error}
		}
	}
	return []any{s.Name, "Unknown", "", ""}
}
