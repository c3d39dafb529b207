package storage

import (
	"math"

	storagev1 "k8s.io/api/storage/v1"
	storagev1alpha1 "k8s.io/api/storage/v1alpha1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/kinds/core"
)

// VolumeAttachment describes the kind VolumeAttachment, which requests attaching a volume to
// a node.
func VolumeAttachment() *api.Resource {
	return api.NewResource(api.Kind[*storagev1.VolumeAttachment]{
		Names: api.Names{Name: "volumeattachments", Singular: "volumeattachment", Kind: "VolumeAttachment"},
		Versions: api.WithOlderVersions(api.Served(storagev1.SchemeGroupVersion),
			api.SameFields[storagev1.VolumeAttachment, storagev1beta1.VolumeAttachment](storagev1beta1.SchemeGroupVersion),
			api.SameFields[storagev1.VolumeAttachment, storagev1alpha1.VolumeAttachment](storagev1alpha1.SchemeGroupVersion)),
		Default:                defaultVolumeAttachment,
		Storage:                api.Storage{Prefix: "volumeattachments"},
		RequireResourceVersion: true,
		Checks: api.Checks(
			api.Metadata,
			api.Changes(volumeAttachmentChanges),
			api.RevalidatedMetadata,
			api.OnCreate(api.Rules(volumeAttachmentRules)),
			api.Declared,
		),
		Status: api.NewStatus(
			api.KeepMetadataOf,
			api.Metadata, api.Changes(volumeAttachmentChanges), api.Declared,
		),
		Reset:  map[string][]string{"status": {"metadata", "spec"}},
		Delete: api.Deletion{ReturnDeletedObject: true},
		Table:  api.Rows(volumeAttachmentRow),
	})
}

func defaultVolumeAttachment(a *storagev1.VolumeAttachment) {
	if s := a.Spec.Source.InlineVolumeSpec; s != nil {
		core.DefaultInlineVolume(s)
	}
}

func volumeAttachmentRow(row *table.Row, a *storagev1.VolumeAttachment) {
	row.Name(a.Name)
	row.NameOf("Attacher", ".spec.attacher", a.Spec.Attacher)
	row.Text("PV", ".spec.source.persistentVolumeName", table.ValueOrZero(a.Spec.Source.PersistentVolumeName))
	row.Text("Node", ".spec.nodeName", a.Spec.NodeName)
	row.Bool("Attached", ".status.attached", a.Status.Attached)
	row.Age(a)
}

func volumeAttachmentRules(at *validation.Path, a *storagev1.VolumeAttachment) {
	spec := at.Child("spec")
	validation.DriverName(spec.Child("attacher"), a.Spec.Attacher)
	attachmentSourceRules(spec.Child("source"), &a.Spec.Source)
	validation.Format(spec.Child("nodeName"), a.Spec.NodeName, validation.DNSSubdomain)
	volumeAttachmentStatusRules(at.Child("status"), &a.Status)
	if name := a.Spec.Source.PersistentVolumeName; name != nil {
		validation.Format(at.Child("spec.source.persistentVolumeName"), *name, validation.DNSSubdomain)
	}
}

func attachmentSourceRules(at *validation.Path, s *storagev1.VolumeAttachmentSource) {
	const one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
	switch {
	case s.InlineVolumeSpec == nil && s.PersistentVolumeName == nil:
		at.Required(one)
	case s.InlineVolumeSpec != nil && s.PersistentVolumeName != nil:
		at.Forbidden(one)
	case s.PersistentVolumeName != nil:
		if *s.PersistentVolumeName == "" {
			at.Child("persistentVolumeName").Required("must specify non empty persistentVolumeName")
		}
	default:
		core.InlineVolumeRules(at.Child("inlineVolumeSpec"), s.InlineVolumeSpec)
	}
}

func volumeAttachmentStatusRules(at *validation.Path, s *storagev1.VolumeAttachmentStatus) {
	size := 0
	for key, value := range s.AttachmentMetadata {
		size += len(key) + len(value)
	}
	if size > maxParametersSize {
		at.Child("attachmentMetadata").TooLong(maxParametersSize)
	}
	validation.IfPresent(at.Child("attachError"), s.AttachError, volumeErrorRules)
	validation.IfPresent(at.Child("detachError"), s.DetachError, volumeErrorRules)
}

func volumeErrorRules(at *validation.Path, e *storagev1.VolumeError) {
	if len(e.Message) > maxVolumeError {
		at.Child("message").TooLong(maxVolumeError)
	}
	if code := e.ErrorCode; code != nil && *code < 0 {
		at.Child("errorCode").Invalid(*code, utilvalidation.InclusiveRangeError(0, math.MaxInt32))
	}
}

func volumeAttachmentChanges(at *validation.Path, obj, old *storagev1.VolumeAttachment) {
	volumeAttachmentRules(at, obj)
	validation.Immutable(at.Child("spec"), obj.Spec, old.Spec)
}
