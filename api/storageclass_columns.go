package api

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func storageClassColumns() []metav1.TableColumnDefinition {
	class := storagev1.StorageClass{}
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Provisioner", doc(class, "provisioner")),
		textColumn("ReclaimPolicy", doc(class, "reclaimPolicy")),
		textColumn("VolumeBindingMode", doc(class, "volumeBindingMode")),
		textColumn("AllowVolumeExpansion", doc(class, "allowVolumeExpansion")),
		ageColumn(),
	}
}

func storageClassCells(obj Object) []any {
	c := obj.(*storagev1.StorageClass)
	name := nameCell(c, "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
	reclaim, binding := corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingImmediate
	if c.ReclaimPolicy != nil {
		reclaim = *c.ReclaimPolicy
	}
	if c.VolumeBindingMode != nil {
		binding = *c.VolumeBindingMode
	}
	return []any{name, c.Provisioner, string(reclaim), string(binding), orEmpty(c.AllowVolumeExpansion), Age(c)}
}
