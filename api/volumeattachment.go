package api

import (
	storagev1 "k8s.io/api/storage/v1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
)

// volumeAttachment is that a volume is to be attached to a node.
func volumeAttachment() *Resource {
	return &Resource{
		Name: "volumeattachments", Singular: "volumeattachment", Kind: "VolumeAttachment",
		Versions:               readable(served(storagev1.SchemeGroupVersion), storagev1beta1.SchemeGroupVersion),
		New:                    func() Object { return &storagev1.VolumeAttachment{} },
		Rows:                   &Table{Columns: volumeAttachmentColumns, Cells: volumeAttachmentCells},
		Prefix:                 "volumeattachments",
		ValidateCreate:         rulesOf(newVolumeAttachmentRules),
		ValidateUpdate:         changesOf(volumeAttachmentChanges),
		PrepareStatusUpdate:    keepMetadataOf,
		ValidateStatusUpdate:   changesOf(volumeAttachmentChanges),
		ReturnDeletedObject:    true,
		HasStatus:              true,
		RequireResourceVersion: true,
	}
}
