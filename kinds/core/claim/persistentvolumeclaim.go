package claim

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// PersistentVolumeClaim describes the kind PersistentVolumeClaim, a request for storage.
func PersistentVolumeClaim(gates features.Gates) *api.Resource {
	return api.NewResource(api.Kind[*corev1.PersistentVolumeClaim]{
		Names: api.Names{
			Name: "persistentvolumeclaims", Singular: "persistentvolumeclaim", Kind: "PersistentVolumeClaim",
			ShortNames: []string{"pvc"},
			Namespaced: true,
		},
		Versions: api.Served(corev1.SchemeGroupVersion),
		// Default sets the phase of a new claim, which is not stored.
		Default:       func(obj *corev1.PersistentVolumeClaim) { DefaultClaim(obj) },
		DefaultStored: func(obj *corev1.PersistentVolumeClaim) { normalizeSources(&obj.Spec) },
		DropDisabledFields: func(gates features.Gates, obj, old *corev1.PersistentVolumeClaim) {
			if !gates.Enabled(features.CrossNamespaceVolumeDataSource) {
				dropForeignSource(obj, old)
			}
		},
		Storage: api.Storage{Prefix: "persistentvolumeclaims"},
		Prepare: api.Prepare(func(obj *corev1.PersistentVolumeClaim) { prepareClaimSpec(&obj.Spec, nil) },
			func(obj, old *corev1.PersistentVolumeClaim) { prepareClaimSpec(&obj.Spec, &old.Spec) }),
		Checks: api.Checks(
			api.Metadata,
			api.RevalidatedMetadata,
			api.OnCreate(api.Rules(claimRules)),
			api.Changes(claimChanges),
			api.Declared,
			api.Warn(claimWarnings),
		),
		Status: api.NewStatus(nil, api.Metadata, api.Changes(claimStatusRules), api.Declared),
		Delete: api.Deletion{ReturnDeletedObject: true},
		Table:  api.Rows(persistentVolumeClaimRow),
	})
}

// DefaultClaim sets the defaults of a claim.
func DefaultClaim(c *corev1.PersistentVolumeClaim) {
	if c.Status.Phase == "" {
		c.Status.Phase = corev1.ClaimPending
	}
	api.SetDefault(&c.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	validation.RoundToMillis(c.Spec.Resources.Requests)
	validation.RoundToMillis(c.Spec.Resources.Limits)
	validation.RoundToMillis(c.Status.Capacity)
	validation.RoundToMillis(c.Status.AllocatedResources)
}

func persistentVolumeClaimRow(row *table.Row, c *corev1.PersistentVolumeClaim) {
	capacity, modes, attributes, mode := "", "", table.CellUnset, table.CellUnset
	// Capacity and access modes are shown once the claim is bound.
	if c.Spec.VolumeName != "" {
		capacity, modes = table.CapacityCell(c.Status.Capacity), table.AccessModes(c.Status.AccessModes)
	}
	if c.Spec.VolumeAttributesClassName != nil {
		attributes = *c.Spec.VolumeAttributesClassName
	}
	if c.Spec.VolumeMode != nil {
		mode = string(*c.Spec.VolumeMode)
	}
	class := table.StorageClassOf(c.Annotations, table.ValueOrZero(c.Spec.StorageClassName))
	row.Name(c.Name)
	row.Text("Status", ".status.phase", table.PhaseCell(c, string(c.Status.Phase)))
	row.Text("Volume", ".spec.volumeName", c.Spec.VolumeName)
	row.Text("Capacity", ".status.capacity", capacity)
	row.Text("Access Modes", ".status.accessModes", modes)
	row.Text("StorageClass", "StorageClass of the pvc", class)
	row.Text("VolumeAttributesClass", "VolumeAttributesClass of the pvc", attributes)
	row.Age(c)
	row.Wide().Text("VolumeMode", ".spec.volumeMode", mode)
}

func claimRules(at *validation.Path, c *corev1.PersistentVolumeClaim) {
	ClaimSpecRules(at.Child("spec"), &c.Spec, nil)
}

// claimChanges validates an update: the spec is immutable except for the volume name, and,
// once the claim is bound, the size and the class of the volume attributes.
func claimChanges(at *validation.Path, obj, stored *corev1.PersistentVolumeClaim) {
	ClaimSpecRules(at.Child("spec"), &obj.Spec, &stored.Spec)
	s, old := obj.Spec.DeepCopy(), stored.Spec.DeepCopy()
	normalizeSources(old)
	if old.VolumeName == "" {
		old.VolumeName = s.VolumeName
	}
	claimClassChanges(at, obj, stored, s, old)
	if obj.Status.Phase == corev1.ClaimBound {
		if s.Resources.Requests != nil {
			s.Resources.Requests[corev1.ResourceStorage] = stored.Spec.Resources.Requests[corev1.ResourceStorage]
		}
		s.VolumeAttributesClassName = old.VolumeAttributesClassName
	}
	if !equality.Semantic.DeepEqual(s, old) {
		at.Child("spec").Forbidden("spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n" +
			validation.InternalDiff(*old, *s))
	}
	size, before := obj.Spec.Resources.Requests[corev1.ResourceStorage], stored.Spec.Resources.Requests[corev1.ResourceStorage]
	has := stored.Status.Capacity[corev1.ResourceStorage]
	if size.Cmp(before) < 0 && size.Cmp(has) <= 0 {
		at.Child("spec").Child("resources").Child("requests").Child("storage").Forbidden("field can not be less than status.capacity")
	}
	validation.Immutable(at.Child("volumeMode"), obj.Spec.VolumeMode, stored.Spec.VolumeMode)
	attributesClassRules(at.Child("spec").Child("volumeAttributesClassName"), obj.Spec.VolumeAttributesClassName, stored)
}

// claimClassChanges allows to set the storage class if the stored claim has none, or has it
// only in the beta annotation.
func claimClassChanges(at *validation.Path, obj, stored *corev1.PersistentVolumeClaim, s, old *corev1.PersistentVolumeClaimSpec) {
	const key = corev1.BetaStorageClassAnnotation
	before, annotated := stored.Annotations[key]
	after, still := obj.Annotations[key]
	moved := annotated && old.StorageClassName == nil && s.StorageClassName != nil && *s.StorageClassName == before &&
		(!still || after == before)
	if moved {
		s.StorageClassName = nil
		return
	}
	if after != before {
		at.Child("metadata").Child("annotations").Child(key).Invalid(after, "field is immutable")
	}
	if old.StorageClassName == nil && s.StorageClassName != nil && (!annotated || *s.StorageClassName == before) {
		s.StorageClassName = nil
	}
}

// attributesClassRules refuses to remove the class of a claim to which one was applied, and changes if
// the feature is disabled.
func attributesClassRules(at *validation.Path, value *string, stored *corev1.PersistentVolumeClaim) {
	if equality.Semantic.DeepEqual(value, stored.Spec.VolumeAttributesClassName) {
		return
	}
	if !at.Enabled(features.VolumeAttributesClass) {
		at.Forbidden("update is forbidden when the VolumeAttributesClass feature gate is disabled")
	}
	switch {
	case stored.Status.CurrentVolumeAttributesClassName == nil:
	case value == nil:
		at.Forbidden("update to nil is forbidden when status.currentVolumeAttributesClassName is not nil")
	case *value == "":
		at.Forbidden("update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil")
	}
}

func claimStatusRules(at *validation.Path, c, _ *corev1.PersistentVolumeClaim) {
	if len(c.Spec.AccessModes) == 0 {
		at.Child("Spec").Child("accessModes").Required("") // as in kube-apiserver
	}
	status := at.Child("status")
	for _, name := range validation.SortedKeys(c.Status.Capacity) {
		validation.BasicQuantity(status.Child("capacity").Key(string(name)), c.Status.Capacity[name])
	}
	if h := c.Status.HealthStatus; h != nil {
		HealthConditionRules(status.Child("healthStatus").Child("healthConditions"), h.HealthConditions)
	}
	resizes, states := status.Child("allocatedResourceStatuses"), []corev1.ClaimResourceStatus{
		corev1.PersistentVolumeClaimControllerResizeInProgress, corev1.PersistentVolumeClaimControllerResizeInfeasible,
		corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInProgress, corev1.PersistentVolumeClaimNodeResizeInfeasible,
	}
	slices.Sort(states)
	for _, name := range validation.SortedKeys(c.Status.AllocatedResourceStatuses) {
		claimResourceName(resizes, name)
		if !slices.Contains(states, c.Status.AllocatedResourceStatuses[name]) {
			at.Add(field.NotSupported(resizes.ToField(), name, states)) // the value is the key, as in kube-apiserver
		}
	}
	allocated := status.Child("allocatedResources")
	for _, name := range validation.SortedKeys(c.Status.AllocatedResources) {
		if !claimResourceName(allocated, name) {
			continue
		}
		if value := c.Status.AllocatedResources[name]; validation.BasicQuantity(allocated.Key(string(name)), value) {
			validation.ResourceQuantity(allocated.Key(string(name)), corev1.ResourceStorage, value)
		}
	}
}

// HealthConditionRules validates conditions of the health of a volume.
func HealthConditionRules(at *validation.Path, conditions []corev1.VolumeHealthCondition) {
	validation.Each(at, conditions, func(at *validation.Path, c *corev1.VolumeHealthCondition) {
		if c.Reason != "" {
			validation.Format(at.Child("reason"), c.Reason, metav1validation.IsValidConditionReason)
		}
	})
}

// claimResourceName validates that a resource is storage or has a domain.
func claimResourceName(at *validation.Path, name corev1.ResourceName) bool {
	if !validation.Format(at, string(name), validation.QualifiedName) {
		return false
	}
	if validation.IsUnprefixed(name) || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix) {
		return validation.OneOf(at, name, corev1.ResourceStorage)
	}
	return true
}

func claimWarnings(c *corev1.PersistentVolumeClaim) []string {
	return validation.Warn(func(at *validation.Path) {
		if _, ok := c.Annotations[corev1.BetaStorageClassAnnotation]; ok {
			at.Warnings([]string{validation.StorageClassWarning})
		}
		ClaimSpecWarnings(at.Child("spec"), &c.Spec)
	})
}

// ClaimSpecWarnings records warnings about the spec of a claim or claim template.
func ClaimSpecWarnings(at *validation.Path, s *corev1.PersistentVolumeClaimSpec) {
	if value, ok := s.Resources.Requests[corev1.ResourceStorage]; ok {
		validation.WarnFractionalBytes(at.Child("resources").Child("requests").Key("storage"), value)
	}
	if value, ok := s.Resources.Limits[corev1.ResourceStorage]; ok {
		validation.WarnFractionalBytes(at.Child("resources").Child("limits").Key("storage"), value)
	}
}

// prepareClaimSpec makes dataSource and dataSourceRef equal. dataSource can refer to claims
// and snapshots only; other references are removed from it.
func prepareClaimSpec(spec, old *corev1.PersistentVolumeClaimSpec) {
	inUse := old != nil && (old.DataSource != nil || old.DataSourceRef != nil)
	if d := spec.DataSource; d != nil && !inUse && spec.DataSourceRef == nil && !fillsVolume(d) {
		spec.DataSource = nil
	}
	normalizeSources(spec)
}

// dropForeignSource removes a source in another namespace, unless the stored claim has a source.
func dropForeignSource(obj, old *corev1.PersistentVolumeClaim) {
	r := obj.Spec.DataSourceRef
	if r != nil && r.Namespace != nil && *r.Namespace != "" && (old == nil || old.Spec.DataSourceRef == nil) {
		obj.Spec.DataSourceRef = nil
	}
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
