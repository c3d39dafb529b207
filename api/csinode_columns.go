package api

import (
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func csiNodeColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(),
		numberColumn("Drivers", "Drivers indicates the number of CSI drivers registered on the node"),
		ageColumn(),
	}
}

func csiNodeCells(obj Object) []any {
	n := obj.(*storagev1.CSINode)
	return []any{n.Name, int64(len(n.Spec.Drivers)), Age(n)}
}
