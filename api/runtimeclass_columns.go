package api

import (
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func runtimeClassColumns() []metav1.TableColumnDefinition {
	// kube-apiserver looks for the description of the handler where there is none.
	return []metav1.TableColumnDefinition{nameColumn(), textColumn("Handler", ""), ageColumn()}
}

func runtimeClassCells(obj Object) []any {
	c := obj.(*nodev1.RuntimeClass)
	return []any{c.Name, c.Handler, Age(c)}
}
