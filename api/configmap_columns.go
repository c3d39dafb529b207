package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func configMapColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{nameColumn(), textColumn("Data", doc(corev1.ConfigMap{}, "data")), ageColumn()}
}

func configMapCells(obj Object) []any {
	c := obj.(*corev1.ConfigMap)
	return []any{c.Name, int64(len(c.Data) + len(c.BinaryData)), Age(c)}
}
