package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func persistentVolumeColumns() []metav1.TableColumnDefinition {
	spec, status := corev1.PersistentVolumeSpec{}, corev1.PersistentVolumeStatus{}
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Capacity", doc(spec, "capacity")),
		textColumn("Access Modes", doc(spec, "accessModes")),
		textColumn("Reclaim Policy", doc(spec, "persistentVolumeReclaimPolicy")),
		textColumn("Status", doc(status, "phase")),
		textColumn("Claim", doc(spec, "claimRef")),
		textColumn("StorageClass", "StorageClass of the pv"),
		textColumn("VolumeAttributesClass", "VolumeAttributesClass of the pv"),
		textColumn("Reason", doc(status, "reason")),
		ageColumn(),
		wide(textColumn("VolumeMode", doc(spec, "volumeMode"))),
	}
}

func persistentVolumeCells(obj Object) []any {
	v := obj.(*corev1.PersistentVolume)
	s := &v.Spec
	claim, attributes, mode := "", cellUnset, cellUnset
	if s.ClaimRef != nil {
		claim = s.ClaimRef.Namespace + "/" + s.ClaimRef.Name
	}
	if s.VolumeAttributesClassName != nil {
		attributes = *s.VolumeAttributesClassName
	}
	if s.VolumeMode != nil {
		mode = string(*s.VolumeMode)
	}
	return []any{
		v.Name, capacityCell(s.Capacity), accessModes(s.AccessModes), string(s.PersistentVolumeReclaimPolicy),
		phaseCell(v, string(v.Status.Phase)), claim, storageClassOf(v.Annotations, s.StorageClassName), attributes,
		v.Status.Reason, Age(v), mode,
	}
}
