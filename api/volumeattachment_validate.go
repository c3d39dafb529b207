package api

import (
	"math"

	storagev1 "k8s.io/api/storage/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

func volumeAttachmentRules(at *place, a *storagev1.VolumeAttachment) {
	spec := at.of("spec")
	driverName(spec.of("attacher"), a.Spec.Attacher)
	attachmentSourceRules(spec.of("source"), &a.Spec.Source)
	format(spec.of("nodeName"), a.Spec.NodeName, dnsSubdomain)
	volumeAttachmentStatusRules(at.of("status"), &a.Status)
	if name := a.Spec.Source.PersistentVolumeName; name != nil {
		format(at.of("spec.source.persistentVolumeName"), *name, dnsSubdomain)
	}
}

func attachmentSourceRules(at *place, s *storagev1.VolumeAttachmentSource) {
	const one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
	switch {
	case s.InlineVolumeSpec == nil && s.PersistentVolumeName == nil:
		at.required(one)
	case s.InlineVolumeSpec != nil && s.PersistentVolumeName != nil:
		at.forbidden(one)
	case s.PersistentVolumeName != nil:
		if *s.PersistentVolumeName == "" {
			at.of("persistentVolumeName").required("must specify non empty persistentVolumeName")
		}
	default:
		inlineVolumeRules(at.of("inlineVolumeSpec"), s.InlineVolumeSpec)
	}
}

func volumeAttachmentStatusRules(at *place, s *storagev1.VolumeAttachmentStatus) {
	size := 0
	for key, value := range s.AttachmentMetadata {
		if key == "" {
			at.of("attachmentMetadata").invalid(key, "field can not be empty.")
		}
		size += len(key) + len(value)
	}
	if size > maxParametersSize {
		at.of("attachmentMetadata").tooLong(maxParametersSize)
	}
	present(at.of("attachError"), s.AttachError, volumeErrorRules)
	present(at.of("detachError"), s.DetachError, volumeErrorRules)
}

func volumeErrorRules(at *place, e *storagev1.VolumeError) {
	if len(e.Message) > maxVolumeError {
		at.of("message").tooLong(maxVolumeError)
	}
	if code := e.ErrorCode; code != nil && *code < 0 {
		at.of("errorCode").invalid(*code, utilvalidation.InclusiveRangeError(0, math.MaxInt32))
	}
}

func volumeAttachmentChanges(at *place, is, was *storagev1.VolumeAttachment) {
	volumeAttachmentRules(at, is)
	fixed(at.of("spec"), is.Spec, was.Spec)
}
