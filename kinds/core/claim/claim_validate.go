package claim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// ClaimSpecRules validates the spec of a claim or of the claim template of an ephemeral
// volume. Labels of the selector may be invalid if they were so in the stored spec old, which is
// nil for a new claim. Groups of data sources may be invalid if the stored spec has any group.
func ClaimSpecRules(at *validation.Path, s, old *corev1.PersistentVolumeClaimSpec) {
	lenientGroup := old != nil && (old.DataSource != nil && old.DataSource.APIGroup != nil ||
		old.DataSourceRef != nil && old.DataSourceRef.APIGroup != nil)
	lenientLabels := old != nil && len(validation.Check(func(at *validation.Path) { validation.SelectorRules(at, old.Selector) })) > 0
	if len(s.AccessModes) == 0 {
		at.Child("accessModes").Required("at least 1 access mode is required")
	}
	validation.LenientSelectorRules(at.Child("selector"), s.Selector, lenientLabels)
	AccessModeRules(at.Child("accessModes"), s.AccessModes)
	storage := at.Child("resources").Key(string(corev1.ResourceStorage))
	if size, ok := s.Resources.Requests[corev1.ResourceStorage]; !ok {
		storage.Required("")
	} else if validation.PositiveQuantity(storage, size) {
		validation.ResourceQuantity(storage, corev1.ResourceStorage, size)
	}
	if s.StorageClassName != nil {
		validation.OptionalFormat(at.Child("storageClassName"), *s.StorageClassName, validation.DNSSubdomain)
	}
	validation.OptionalEnum(at.Child("volumeMode"), s.VolumeMode, corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)
	if d := s.DataSource; d != nil {
		dataSourceRules(at.Child("dataSource"), d.APIGroup, d.Kind, d.Name, lenientGroup)
	}
	if d := s.DataSourceRef; d != nil {
		dataSourceRules(at.Child("dataSourceRef"), d.APIGroup, d.Kind, d.Name, lenientGroup)
		if d.Namespace != nil {
			validation.OptionalFormat(at.Child("dataSourceRef").Child("namespace"), *d.Namespace, validation.DNSLabel)
		}
		if s.DataSource != nil {
			bothSources(at, s.DataSource, d)
		}
	}
	used := old != nil && old.VolumeAttributesClassName != nil
	if s.VolumeAttributesClassName != nil && (used || at.Enabled(features.VolumeAttributesClass)) {
		validation.OptionalFormat(at.Child("volumeAttributesClassName"), *s.VolumeAttributesClassName, validation.DNSSubdomain)
	}
}

// AccessModeRules validates access modes: ReadWriteOncePod excludes all others.
func AccessModeRules(at *validation.Path, modes []corev1.PersistentVolumeAccessMode) {
	shared := false
	for _, mode := range modes {
		known := validation.OneOf(at, mode, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod)
		shared = shared || known && mode != corev1.ReadWriteOncePod
	}
	if shared && slices.Contains(modes, corev1.ReadWriteOncePod) {
		at.Forbidden("may not use ReadWriteOncePod with other access modes")
	}
}

func dataSourceRules(at *validation.Path, group *string, kind, name string, lenientGroup bool) {
	validation.Required(at.Child("name"), name)
	validation.Required(at.Child("kind"), kind)
	switch {
	case group != nil && *group != "":
		if lenientGroup {
			return
		}
		validation.Format(at.Child("apiGroup"), *group, validation.DNSSubdomain)
	case kind != "PersistentVolumeClaim":
		at.Invalid(kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
	}
}

// bothSources validates that dataSource and dataSourceRef, if both are set, are equal.
func bothSources(at *validation.Path, d *corev1.TypedLocalObjectReference, ref *corev1.TypedObjectReference) {
	other := at.Child("dataSource").ToField()
	if ref.Namespace != nil && *ref.Namespace != "" {
		at.Invalid(other, "may not be specified when dataSourceRef.namespace is specified")
	} else if !equality.Semantic.DeepEqual(d.APIGroup, ref.APIGroup) || d.Kind != ref.Kind || d.Name != ref.Name {
		at.Invalid(other, "must match dataSourceRef")
	}
}
