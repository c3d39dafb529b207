package api

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// claimSpecRules are for what a claim asks of a volume, for claims that stand
// for themselves and those that come with a pod.
func claimSpecRules(at *place, s *corev1.PersistentVolumeClaimSpec) {
	if len(s.AccessModes) == 0 {
		at.of("accessModes").required("at least 1 access mode is required")
	}
	selectorRules(at.of("selector"), s.Selector)
	accessModeRules(at.of("accessModes"), s.AccessModes)
	storage := at.of("resources").key(string(corev1.ResourceStorage))
	if size, ok := s.Resources.Requests[corev1.ResourceStorage]; !ok {
		storage.required("")
	} else if positiveQuantity(storage, size) {
		amount(storage, corev1.ResourceStorage, size)
	}
	if s.StorageClassName != nil {
		optional(at.of("storageClassName"), *s.StorageClassName, dnsSubdomain)
	}
	optionalEnum(at.of("volumeMode"), s.VolumeMode, corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)
	if d := s.DataSource; d != nil {
		dataSourceRules(at.of("dataSource"), d.APIGroup, d.Kind, d.Name)
	}
	if d := s.DataSourceRef; d != nil {
		dataSourceRules(at.of("dataSourceRef"), d.APIGroup, d.Kind, d.Name)
		if d.Namespace != nil {
			optional(at.of("dataSourceRef").of("namespace"), *d.Namespace, dnsLabel)
		}
		if s.DataSource != nil {
			bothSources(at, s.DataSource, d)
		}
	}
	if s.VolumeAttributesClassName != nil {
		optional(at.of("volumeAttributesClassName"), *s.VolumeAttributesClassName, dnsSubdomain)
	}
}

// accessModeRules: a volume for one pod alone cannot be shared otherwise.
func accessModeRules(at *place, modes []corev1.PersistentVolumeAccessMode) {
	shared := false
	for _, mode := range modes {
		known := oneOf(at, mode, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod)
		shared = shared || known && mode != corev1.ReadWriteOncePod
	}
	if shared && slices.Contains(modes, corev1.ReadWriteOncePod) {
		at.forbidden("may not use ReadWriteOncePod with other access modes")
	}
}

func dataSourceRules(at *place, group *string, kind, name string) {
	required(at.of("name"), name)
	required(at.of("kind"), kind)
	switch {
	case group != nil && *group != "":
		format(at.of("apiGroup"), *group, dnsSubdomain)
	case kind != "PersistentVolumeClaim":
		at.invalid(kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
	}
}

// bothSources: the older field can only repeat the newer one.
func bothSources(at *place, d *corev1.TypedLocalObjectReference, ref *corev1.TypedObjectReference) {
	other := at.of("dataSource").path()
	if ref.Namespace != nil && *ref.Namespace != "" {
		at.invalid(other, "may not be specified when dataSourceRef.namespace is specified")
	} else if !equality.Semantic.DeepEqual(d.APIGroup, ref.APIGroup) || d.Kind != ref.Kind || d.Name != ref.Name {
		at.invalid(other, "must match dataSourceRef")
	}
}
