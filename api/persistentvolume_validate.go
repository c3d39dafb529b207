package api

import (
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

func persistentVolumeRules(at *place, v *corev1.PersistentVolume) {
	s, at := &v.Spec, at.of("spec")
	volumeModesRules(at, s)
	capacity := at.of("capacity")
	if len(s.Capacity) == 0 {
		capacity.required("")
	}
	if _, ok := s.Capacity[corev1.ResourceStorage]; !ok || len(s.Capacity) > 1 {
		notSupported(capacity, s.Capacity, corev1.ResourceStorage)
	}
	for _, name := range sortedKeys(s.Capacity) {
		at := capacity.key(string(name))
		basicQuantity(at, s.Capacity[name])
		positiveQuantity(at, s.Capacity[name])
	}
	if p := s.PersistentVolumeReclaimPolicy; p != "" {
		oneOf(at.of("persistentVolumeReclaimPolicy"), p,
			corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle, corev1.PersistentVolumeReclaimRetain)
	}
	placed := false
	if a := s.NodeAffinity; a != nil {
		if a.Required == nil {
			at.of("nodeAffinity").of("required").required("must specify required node constraints")
		} else {
			placed = true
			nodeSelectorRules(at.of("nodeAffinity").of("required"), a.Required, false)
		}
	}
	volumeOriginRules(at, s, placed)
	optional(at.of("storageClassName"), s.StorageClassName, dnsSubdomain)
	optionalEnum(at.of("volumeMode"), s.VolumeMode, corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)
	if class := s.VolumeAttributesClassName; class != nil {
		if *class == "" {
			at.of("volumeAttributesClassName").required("an empty string is disallowed")
		}
		optional(at.of("volumeAttributesClassName"), *class, dnsSubdomain)
		if s.CSI == nil {
			at.of("csi").required("has to be specified when using volumeAttributesClassName")
		}
	}
}

// inlineVolumeRules are for the volume of a pod on its way to be attached: what
// is said of it as a persistent volume must not be.
func inlineVolumeRules(at *place, s *corev1.PersistentVolumeSpec) {
	const not = "may not be specified in the context of inline volumes"
	if s.ClaimRef != nil {
		at.of("claimRef").forbidden(not)
	}
	if len(s.Capacity) > 0 {
		at.of("capacity").forbidden(not)
	}
	if s.CSI == nil {
		at.of("csi").required("has to be specified in the context of inline volumes")
	}
	volumeModesRules(at, s)
	if p := s.PersistentVolumeReclaimPolicy; p != "" && p != corev1.PersistentVolumeReclaimRetain {
		at.of("persistentVolumeReclaimPolicy").forbidden("may only be Retain in the context of inline volumes")
	}
	if s.NodeAffinity != nil {
		at.of("nodeAffinity").forbidden(not)
	}
	volumeOriginRules(at, s, false)
	if s.StorageClassName != "" {
		at.of("storageClassName").forbidden(not)
	}
	if s.VolumeMode != nil && *s.VolumeMode != corev1.PersistentVolumeFilesystem {
		at.of("volumeMode").forbidden("may not specify volumeMode other than Filesystem in the context of inline volumes")
	}
}

func volumeModesRules(at *place, s *corev1.PersistentVolumeSpec) {
	if len(s.AccessModes) == 0 {
		at.of("accessModes").required("")
	}
	accessModeRules(at.of("accessModes"), s.AccessModes)
}

// volumeOriginRules are for the source of a volume. placed reports whether the volume
// names the nodes that have it.
func volumeOriginRules(at *place, s *corev1.PersistentVolumeSpec, placed bool) {
	one := onlyOne{at: at, message: "may not specify more than 1 volume type"}
	volumeSourceRules(&one, &s.PersistentVolumeSource)
	if s.Local != nil && !placed {
		at.of("nodeAffinity").required("Local volume requires node affinity")
	}
	if !one.found {
		at.required("must specify a volume type")
	}
	if s.HostPath != nil && path.Clean(s.HostPath.Path) == "/" && s.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		at.of("persistentVolumeReclaimPolicy").forbidden("may not be 'recycle' for a hostPath mount of '/'")
	}
}

func persistentVolumeChanges(at *place, is, was *corev1.PersistentVolume) {
	persistentVolumeRules(at, is)
	persistentVolumeRules(at, is)
	source := is.Spec.DeepCopy().PersistentVolumeSource
	// A secret to expand volumes with may be given later.
	if source.CSI != nil && was.Spec.CSI != nil && was.Spec.CSI.ControllerExpandSecretRef == nil {
		source.CSI.ControllerExpandSecretRef = nil
	}
	if !equality.Semantic.DeepEqual(source, was.Spec.PersistentVolumeSource) {
		at.of("spec").of("persistentvolumesource").forbidden(fmt.Sprintf(
			"spec.persistentvolumesource is immutable after creation\n%v", InternalDiff(source, was.Spec.PersistentVolumeSource)))
	}
	fixed(at.of("volumeMode"), is.Spec.VolumeMode, was.Spec.VolumeMode)
	if was.Spec.NodeAffinity != nil {
		fixed(at.of("nodeAffinity"), is.Spec.NodeAffinity, was.Spec.NodeAffinity)
	}
	if was.Spec.VolumeAttributesClassName != nil && is.Spec.VolumeAttributesClassName == nil {
		at.of("spec").of("volumeAttributesClassName").forbidden("update from non-nil value to nil is forbidden")
	}
}
