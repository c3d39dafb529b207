package api

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

func claimRules(at *place, c *corev1.PersistentVolumeClaim) { claimSpecRules(at.of("spec"), &c.Spec) }

// claimChanges: a claim stays what it was, but that it is bound once, may grow
// and may change the class of its attributes when bound.
func claimChanges(at *place, is, was *corev1.PersistentVolumeClaim) {
	claimRules(at, is)
	s, old := is.Spec.DeepCopy(), was.Spec.DeepCopy()
	normalizeSources(old)
	if old.VolumeName == "" {
		old.VolumeName = s.VolumeName
	}
	claimClassChanges(at, is, was, s, old)
	if is.Status.Phase == corev1.ClaimBound {
		if s.Resources.Requests != nil {
			s.Resources.Requests[corev1.ResourceStorage] = was.Spec.Resources.Requests[corev1.ResourceStorage]
		}
		if s.VolumeAttributesClassName != nil {
			s.VolumeAttributesClassName = old.VolumeAttributesClassName
		}
	}
	if !equality.Semantic.DeepEqual(s, old) {
		at.of("spec").forbidden("spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n" +
			InternalDiff(*old, *s))
	}
	size, before, has := is.Spec.Resources.Requests[corev1.ResourceStorage], was.Spec.Resources.Requests[corev1.ResourceStorage], was.Status.Capacity[corev1.ResourceStorage]
	if size.Cmp(before) < 0 && size.Cmp(has) <= 0 {
		at.of("spec").of("resources").of("requests").of("storage").forbidden("field can not be less than status.capacity")
	}
	fixed(at.of("volumeMode"), is.Spec.VolumeMode, was.Spec.VolumeMode)
	claimAttributesChanges(at.of("spec").of("volumeAttributesClassName"), is.Spec.VolumeAttributesClassName, was.Spec.VolumeAttributesClassName)
}

// claimClassChanges lets the class be set where there was none, or where it
// stood in an annotation.
func claimClassChanges(at *place, is, was *corev1.PersistentVolumeClaim, s, old *corev1.PersistentVolumeClaimSpec) {
	const key = corev1.BetaStorageClassAnnotation
	before, annotated := was.Annotations[key]
	after, still := is.Annotations[key]
	moved := annotated && old.StorageClassName == nil && s.StorageClassName != nil && *s.StorageClassName == before &&
		(!still || after == before)
	if moved {
		s.StorageClassName = nil
		return
	}
	if after != before {
		at.of("metadata").of("annotations").key(key).invalid(after, "field is immutable")
	}
	if !annotated && old.StorageClassName == nil && s.StorageClassName != nil {
		s.StorageClassName = nil
	}
}

func claimAttributesChanges(at *place, is, was *string) {
	switch {
	case was == nil:
	case is == nil:
		at.forbidden("update from non-nil value to nil is forbidden")
	case *is == "" && *was != "":
		at.forbidden("update from non-nil value to an empty string is forbidden")
	}
}

func claimStatusRules(at *place, c, _ *corev1.PersistentVolumeClaim) {
	if len(c.Spec.AccessModes) == 0 {
		at.of("spec").of("accessModes").required("")
	}
	status := at.of("status")
	for _, name := range sortedKeys(c.Status.Capacity) {
		basicQuantity(status.of("capacity").key(string(name)), c.Status.Capacity[name])
	}
	resizes := status.of("allocatedResourceStatus")
	for _, name := range sortedKeys(c.Status.AllocatedResourceStatuses) {
		claimResourceName(resizes, name)
		oneOf(resizes, c.Status.AllocatedResourceStatuses[name],
			corev1.PersistentVolumeClaimControllerResizeInfeasible, corev1.PersistentVolumeClaimControllerResizeInProgress,
			corev1.PersistentVolumeClaimNodeResizeInProgress, corev1.PersistentVolumeClaimNodeResizeInfeasible,
			corev1.PersistentVolumeClaimNodeResizePending)
	}
	allocated := status.of("allocatedResources")
	for _, name := range sortedKeys(c.Status.AllocatedResources) {
		claimResourceName(allocated, name)
		if value := c.Status.AllocatedResources[name]; basicQuantity(allocated.key(string(name)), value) {
			amount(allocated.key(string(name)), corev1.ResourceStorage, value)
		}
	}
}

// claimResourceName is storage, or a name with a domain.
func claimResourceName(at *place, name corev1.ResourceName) {
	if !format(at, string(name), qualifiedName) {
		return
	}
	if name != corev1.ResourceStorage && (bare(name) || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)) {
		at.invalid(string(name), "must be a standard resource for pvc or prefixed with a domain")
	}
}

func claimWarnings(obj, _ Object) []string {
	c := obj.(*corev1.PersistentVolumeClaim)
	return warn(func(at *place) {
		if _, ok := c.Annotations[corev1.BetaStorageClassAnnotation]; ok {
			at.warnings([]string{storageClassWarning})
		}
		claimSpecWarnings(at.of("spec"), &c.Spec)
	})
}

// claimSpecWarnings are about a claim, or what claims are to be made of.
func claimSpecWarnings(at *place, s *corev1.PersistentVolumeClaimSpec) {
	if value, ok := s.Resources.Requests[corev1.ResourceStorage]; ok {
		wholeByte(at.of("resources").of("requests").key("storage"), value)
	}
	if value, ok := s.Resources.Limits[corev1.ResourceStorage]; ok {
		wholeByte(at.of("resources").of("limits").key("storage"), value)
	}
}

// prepareClaimSpec makes the two fields for what a volume is filled from the
// same. The older one takes claims and snapshots only, and drops the rest.
func prepareClaimSpec(is, was *corev1.PersistentVolumeClaimSpec) {
	inUse := was != nil && (was.DataSource != nil || was.DataSourceRef != nil)
	if r := is.DataSourceRef; r != nil && r.Namespace != nil && !inUse {
		is.DataSourceRef = nil
	}
	if d := is.DataSource; d != nil && !inUse && !fillsVolume(d) {
		is.DataSource = nil
	}
	normalizeSources(is)
}

func fillsVolume(d *corev1.TypedLocalObjectReference) bool {
	group := ""
	if d.APIGroup != nil {
		group = *d.APIGroup
	}
	return d.Kind == "PersistentVolumeClaim" && group == "" || d.Kind == "VolumeSnapshot" && group == "snapshot.storage.k8s.io"
}

func normalizeSources(s *corev1.PersistentVolumeClaimSpec) {
	switch d, r := s.DataSource, s.DataSourceRef; {
	case d != nil && r == nil:
		s.DataSourceRef = &corev1.TypedObjectReference{APIGroup: d.APIGroup, Kind: d.Kind, Name: d.Name}
	case d == nil && r != nil && (r.Namespace == nil || *r.Namespace == ""):
		s.DataSource = &corev1.TypedLocalObjectReference{APIGroup: r.APIGroup, Kind: r.Kind, Name: r.Name}
	}
}
