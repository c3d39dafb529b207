package api

import (
	storagev1 "k8s.io/api/storage/v1"
	storagev1alpha1 "k8s.io/api/storage/v1alpha1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
)

// volumeAttachment is that a volume is to be attached to a node.
func volumeAttachment() *Resource {
	return &Resource{
		Name: "volumeattachments", Singular: "volumeattachment", Kind: "VolumeAttachment",
		Versions: older(served(storagev1.SchemeGroupVersion),
			alike[storagev1.VolumeAttachment, storagev1beta1.VolumeAttachment](storagev1beta1.SchemeGroupVersion),
			alike[storagev1.VolumeAttachment, storagev1alpha1.VolumeAttachment](storagev1alpha1.SchemeGroupVersion)),
		New:                    func() Object { return &storagev1.VolumeAttachment{} },
		Rows:                   &Table{Columns: volumeAttachmentColumns, Cells: volumeAttachmentCells},
		Prefix:                 "volumeattachments",
		ValidateCreate:         rulesOf(volumeAttachmentRules),
		ValidateUpdate:         changesOf(volumeAttachmentChanges),
		PrepareStatusUpdate:    keepMetadataOf,
		ResetFields:            map[string][]string{"status": {"metadata", "spec"}},
		ValidateStatusUpdate:   changesOf(volumeAttachmentChanges),
		ReturnDeletedObject:    true,
		HasStatus:              true,
		RequireResourceVersion: true,
	}
}
