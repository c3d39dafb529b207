package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func secretColumns() []metav1.TableColumnDefinition {
	s := corev1.Secret{}
	return []metav1.TableColumnDefinition{nameColumn(), textColumn("Type", doc(s, "type")), textColumn("Data", doc(s, "data")), ageColumn()}
}

func secretCells(obj Object) []any {
	s := obj.(*corev1.Secret)
	return []any{s.Name, string(s.Type), int64(len(s.Data)), Age(s)}
}
