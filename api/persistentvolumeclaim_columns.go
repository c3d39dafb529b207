package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func persistentVolumeClaimColumns() []metav1.TableColumnDefinition {
	spec, status := corev1.PersistentVolumeClaimSpec{}, corev1.PersistentVolumeClaimStatus{}
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Status", doc(status, "phase")),
		textColumn("Volume", doc(spec, "volumeName")),
		textColumn("Capacity", doc(status, "capacity")),
		textColumn("Access Modes", doc(status, "accessModes")),
		textColumn("StorageClass", "StorageClass of the pvc"),
		textColumn("VolumeAttributesClass", "VolumeAttributesClass of the pvc"),
		ageColumn(),
		wide(textColumn("VolumeMode", doc(spec, "volumeMode"))),
	}
}

func persistentVolumeClaimCells(obj Object) []any {
	c := obj.(*corev1.PersistentVolumeClaim)
	capacity, modes, attributes, mode := "", "", cellUnset, cellUnset
	// What a claim has is of interest from when it is bound.
	if c.Spec.VolumeName != "" {
		capacity, modes = capacityCell(c.Status.Capacity), accessModes(c.Status.AccessModes)
	}
	if c.Spec.VolumeAttributesClassName != nil {
		attributes = *c.Spec.VolumeAttributesClassName
	}
	if c.Spec.VolumeMode != nil {
		mode = string(*c.Spec.VolumeMode)
	}
	return []any{
		c.Name, phaseCell(c, string(c.Status.Phase)), c.Spec.VolumeName, capacity, modes,
		storageClassOf(c.Annotations, orEmpty(c.Spec.StorageClassName)), attributes, Age(c), mode,
	}
}
