package api

import (
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func volumeAttributesClassColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(), textColumn("DriverName", doc(storagev1.VolumeAttributesClass{}, "driverName")), ageColumn(),
	}
}

func volumeAttributesClassCells(obj Object) []any {
	c := obj.(*storagev1.VolumeAttributesClass)
	return []any{nameCell(c, "volumeattributesclass.alpha.kubernetes.io/is-default-class"), c.DriverName, Age(c)}
}
