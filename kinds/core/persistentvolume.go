package core

import (
	"fmt"
	"path"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core/claim"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
)

// ClaimRefField is the index of volumes by their claim, "namespace/name". Clients cannot
// select by it.
const ClaimRefField = "spec.claimRef"

// PersistentVolume describes the kind PersistentVolume, storage that a claim can bind. now is
// the clock for the time of the last change of phase.
func PersistentVolume(gates features.Gates, now func() time.Time) *api.Resource {
	return api.NewResource(api.Kind[*corev1.PersistentVolume]{
		Names: api.Names{
			Name: "persistentvolumes", Singular: "persistentvolume", Kind: "PersistentVolume",
			ShortNames: []string{"pv"},
		},
		Versions: api.Served(corev1.SchemeGroupVersion),
		Default:  defaultPersistentVolume,
		Storage:  api.Storage{Prefix: "persistentvolumes"},
		Prepare: api.Prepare(func(obj *corev1.PersistentVolume) {
			stamp := metav1.NewTime(now())
			obj.Status = corev1.PersistentVolumeStatus{
				Phase: corev1.VolumePending, LastPhaseTransitionTime: &stamp,
			}
		}, nil),
		Checks: api.Checks(
			api.NewMetadata,
			api.Changes(persistentVolumeChanges),
			api.OnCreate(api.Rules(persistentVolumeRules)),
			api.Declared,
			api.Warn(persistentVolumeWarnings),
		),
		Status: api.NewStatus(func(obj, old *corev1.PersistentVolume) {
			status, oldStatus := &obj.Status, &old.Status
			if status.Phase == oldStatus.Phase {
				if status.LastPhaseTransitionTime == nil {
					status.LastPhaseTransitionTime = oldStatus.LastPhaseTransitionTime
				}
				return
			}
			// A client may set the time itself.
			if status.LastPhaseTransitionTime == nil || status.LastPhaseTransitionTime.Equal(oldStatus.LastPhaseTransitionTime) {
				stamp := metav1.NewTime(now())
				status.LastPhaseTransitionTime = &stamp
			}
		}),
		Selectable: func(obj *corev1.PersistentVolume) map[string]string {
			claim := ""
			if ref := obj.Spec.ClaimRef; ref != nil {
				claim = ref.Namespace + "/" + ref.Name
			}
			return map[string]string{ClaimRefField: claim}
		},
		Indexed: []string{ClaimRefField},
		Delete:  api.Deletion{ReturnDeletedObject: true},
		Table:   api.Rows(persistentVolumeRow),
	})
}

func persistentVolumeRow(row *table.Row, v *corev1.PersistentVolume) {
	s := &v.Spec
	claim, attributes, mode := "", table.CellUnset, table.CellUnset
	if s.ClaimRef != nil {
		claim = s.ClaimRef.Namespace + "/" + s.ClaimRef.Name
	}
	if s.VolumeAttributesClassName != nil {
		attributes = *s.VolumeAttributesClassName
	}
	if s.VolumeMode != nil {
		mode = string(*s.VolumeMode)
	}
	row.Name(v.Name)
	row.Text("Capacity", ".spec.capacity", table.CapacityCell(s.Capacity))
	row.Text("Access Modes", ".spec.accessModes", table.AccessModes(s.AccessModes))
	row.Text("Reclaim Policy", ".spec.persistentVolumeReclaimPolicy", string(s.PersistentVolumeReclaimPolicy))
	row.Text("Status", ".status.phase", table.PhaseCell(v, string(v.Status.Phase)))
	row.Text("Claim", ".spec.claimRef", claim)
	row.Text("StorageClass", "StorageClass of the pv", table.StorageClassOf(v.Annotations, s.StorageClassName))
	row.Text("VolumeAttributesClass", "VolumeAttributesClass of the pv", attributes)
	row.Text("Reason", ".status.reason", v.Status.Reason)
	row.Age(v)
	row.Wide().Text("VolumeMode", ".spec.volumeMode", mode)
}

func persistentVolumeRules(at *validation.Path, v *corev1.PersistentVolume) {
	persistentVolumeSpecRules(at.Child("spec"), &v.Spec, false)
	mountOptionRules(at, v)
}

// mountOptionRules refuses the annotation with mount options for sources that are not mounted.
func mountOptionRules(at *validation.Path, v *corev1.PersistentVolume) {
	if _, ok := v.Annotations[corev1.MountOptionAnnotation]; ok && !hasMountOptions(&v.Spec.PersistentVolumeSource) {
		at.Child("metadata").Child("annotations").Child(corev1.MountOptionAnnotation).Forbidden("may not specify mount options for this volume type")
	}
}

// hasMountOptions reports whether the annotation may give a volume mount options.
func hasMountOptions(s *corev1.PersistentVolumeSource) bool {
	return s.GCEPersistentDisk != nil || s.AWSElasticBlockStore != nil || s.Glusterfs != nil || s.NFS != nil || s.RBD != nil ||
		s.Quobyte != nil || s.ISCSI != nil || s.Cinder != nil || s.CephFS != nil || s.AzureFile != nil || s.VsphereVolume != nil ||
		s.AzureDisk != nil || s.PhotonPersistentDisk != nil
}

// persistentVolumeSpecRules validates the spec of a volume. If lenientNodes is true, the node affinity may
// have invalid label values.
func persistentVolumeSpecRules(at *validation.Path, s *corev1.PersistentVolumeSpec, lenientNodes bool) {
	volumeModesRules(at, s)
	capacity := at.Child("capacity")
	if len(s.Capacity) == 0 {
		capacity.Required("")
	}
	if _, ok := s.Capacity[corev1.ResourceStorage]; !ok || len(s.Capacity) > 1 {
		validation.NotSupported(capacity, s.Capacity, corev1.ResourceStorage)
	}
	for _, name := range validation.SortedKeys(s.Capacity) {
		at := capacity.Key(string(name))
		validation.BasicQuantity(at, s.Capacity[name])
		validation.PositiveQuantity(at, s.Capacity[name])
	}
	if p := s.PersistentVolumeReclaimPolicy; p != "" {
		validation.OneOf(at.Child("persistentVolumeReclaimPolicy"), p,
			corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle, corev1.PersistentVolumeReclaimRetain)
	}
	if a := s.NodeAffinity; a != nil {
		if a.Required == nil {
			at.Child("nodeAffinity").Child("required").Required("must specify required node constraints")
		} else {
			validation.NodeSelectorRules(at.Child("nodeAffinity").Child("required"), a.Required, lenientNodes)
		}
	}
	volumeOriginRules(at, s, s.NodeAffinity != nil)
	validation.OptionalFormat(at.Child("storageClassName"), s.StorageClassName, validation.DNSSubdomain)
	validation.OptionalEnum(at.Child("volumeMode"), s.VolumeMode, corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)
	if class := s.VolumeAttributesClassName; class != nil {
		if *class == "" {
			at.Child("volumeAttributesClassName").Required("an empty string is disallowed")
		}
		validation.OptionalFormat(at.Child("volumeAttributesClassName"), *class, validation.DNSSubdomain)
		if s.CSI == nil {
			at.Child("csi").Required("has to be specified when using volumeAttributesClassName")
		}
	}
}

// InlineVolumeRules validates an inline volume of a pod that is to be attached, in the form of
// a persistent volume.
func InlineVolumeRules(at *validation.Path, s *corev1.PersistentVolumeSpec) {
	const not = "may not be specified in the context of inline volumes"
	if s.ClaimRef != nil {
		at.Child("claimRef").Forbidden(not)
	}
	if len(s.Capacity) > 0 {
		at.Child("capacity").Forbidden(not)
	}
	if s.CSI == nil {
		at.Child("csi").Required("has to be specified in the context of inline volumes")
	}
	volumeModesRules(at, s)
	if p := s.PersistentVolumeReclaimPolicy; p != "" && p != corev1.PersistentVolumeReclaimRetain {
		at.Child("persistentVolumeReclaimPolicy").Forbidden("may only be Retain in the context of inline volumes")
	}
	if s.NodeAffinity != nil {
		at.Child("nodeAffinity").Forbidden(not)
	}
	volumeOriginRules(at, s, false)
	if s.StorageClassName != "" {
		at.Child("storageClassName").Forbidden(not)
	}
	if s.VolumeMode != nil && *s.VolumeMode != corev1.PersistentVolumeFilesystem {
		at.Child("volumeMode").Forbidden("may not specify volumeMode other than Filesystem in the context of inline volumes")
	}
}

func volumeModesRules(at *validation.Path, s *corev1.PersistentVolumeSpec) {
	if len(s.AccessModes) == 0 {
		at.Child("accessModes").Required("")
	}
	claim.AccessModeRules(at.Child("accessModes"), s.AccessModes)
}

// volumeOriginRules validates the source of a volume. placed: the volume has a node affinity.
func volumeOriginRules(at *validation.Path, s *corev1.PersistentVolumeSpec, placed bool) {
	one := pod.SingleSource{At: at, Message: "may not specify more than 1 volume type"}
	volumeSourceRules(&one, &s.PersistentVolumeSource, placed)
	if !one.Found {
		at.Required("must specify a volume type")
	}
	if s.HostPath != nil && path.Clean(s.HostPath.Path) == "/" && s.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		at.Child("persistentVolumeReclaimPolicy").Forbidden("may not be 'recycle' for a hostPath mount of '/'")
	}
}

func persistentVolumeChanges(at *validation.Path, obj, old *corev1.PersistentVolume) {
	a := old.Spec.NodeAffinity
	lenientNodes := a != nil && a.Required != nil && validation.HasInvalidNodeLabelValues(a.Required)
	// kube-apiserver validates the spec twice, and shows each error twice.
	for range 2 {
		persistentVolumeSpecRules(at.Child("spec"), &obj.Spec, lenientNodes)
	}
	source := obj.Spec.DeepCopy().PersistentVolumeSource
	// A secret for expansion can be added later.
	if source.CSI != nil && old.Spec.CSI != nil && old.Spec.CSI.ControllerExpandSecretRef == nil {
		source.CSI.ControllerExpandSecretRef = nil
	}
	if !equality.Semantic.DeepEqual(source, old.Spec.PersistentVolumeSource) {
		at.Child("spec").Child("persistentvolumesource").Forbidden(fmt.Sprintf(
			"spec.persistentvolumesource is immutable after creation\n%v", validation.InternalDiff(old.Spec.PersistentVolumeSource, source)))
	}
	validation.Immutable(at.Child("volumeMode"), obj.Spec.VolumeMode, old.Spec.VolumeMode)
	if before := old.Spec.NodeAffinity; before != nil && !at.Enabled(features.MutablePVNodeAffinity) &&
		!equality.Semantic.DeepEqual(obj.Spec.NodeAffinity, renewedLabels(before, obj.Spec.NodeAffinity)) {
		at.Child("nodeAffinity").Invalid(obj.Spec.NodeAffinity, "field is immutable, except for updating from beta label to GA")
	}
	class, was := obj.Spec.VolumeAttributesClassName, old.Spec.VolumeAttributesClassName
	if !at.Enabled(features.VolumeAttributesClass) && !equality.Semantic.DeepEqual(class, was) {
		at.Child("spec").Child("volumeAttributesClassName").Forbidden("update is forbidden when the VolumeAttributesClass feature gate is disabled")
	}
	if was != nil && class == nil {
		at.Child("spec").Child("volumeAttributesClassName").Forbidden("update from non-nil value to nil is forbidden")
	}
}

// renewedLabels returns old with the labels of other where these took the place of labels in beta.
func renewedLabels(old, other *corev1.VolumeNodeAffinity) *corev1.VolumeNodeAffinity {
	if old.Required == nil || other == nil || other.Required == nil {
		return old
	}
	old = old.DeepCopy()
	for i := range min(len(old.Required.NodeSelectorTerms), len(other.Required.NodeSelectorTerms)) {
		terms, others := &old.Required.NodeSelectorTerms[i], &other.Required.NodeSelectorTerms[i]
		for _, lists := range [][2][]corev1.NodeSelectorRequirement{
			{terms.MatchExpressions, others.MatchExpressions}, {terms.MatchFields, others.MatchFields},
		} {
			for j := range min(len(lists[0]), len(lists[1])) {
				if renewed := lists[1][j].Key; isRenewedLabel(lists[0][j].Key, renewed) {
					lists[0][j].Key = renewed
				}
			}
		}
	}
	return old
}

// isRenewedLabel reports whether a label of nodes takes the place of one in beta.
func isRenewedLabel(beta, label string) bool {
	switch beta {
	case "beta.kubernetes.io/arch", "beta.kubernetes.io/os":
		return label == strings.TrimPrefix(beta, "beta.")
	case corev1.LabelFailureDomainBetaZone:
		return label == corev1.LabelTopologyZone
	case corev1.LabelFailureDomainBetaRegion:
		return label == corev1.LabelTopologyRegion
	case corev1.LabelInstanceType:
		return label == corev1.LabelInstanceTypeStable
	}
	return false
}
