package api

import (
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func volumeAttachmentColumns() []metav1.TableColumnDefinition {
	spec := storagev1.VolumeAttachmentSpec{}
	attacher := textColumn("Attacher", doc(spec, "attacher"))
	attacher.Format = "name"
	return []metav1.TableColumnDefinition{
		nameColumn(),
		attacher,
		textColumn("PV", doc(storagev1.VolumeAttachmentSource{}, "persistentVolumeName")),
		textColumn("Node", doc(spec, "nodeName")),
		boolColumn("Attached", doc(storagev1.VolumeAttachmentStatus{}, "attached")),
		ageColumn(),
	}
}

func volumeAttachmentCells(obj Object) []any {
	a := obj.(*storagev1.VolumeAttachment)
	return []any{
		a.Name, a.Spec.Attacher, orEmpty(a.Spec.Source.PersistentVolumeName), a.Spec.NodeName, a.Status.Attached, Age(a),
	}
}
