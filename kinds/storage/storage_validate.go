package storage

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

const (
	maxParameters     = 512
	maxParametersSize = 256 << 10
	maxVolumeError    = 1024
	maxNodeID         = 256
)

// provisionerName validates the name of a volume provisioner.
func provisionerName(at *validation.Path, name string) {
	if !validation.Required(at, name) {
		return
	}
	lower := strings.ToLower(name)
	for _, fault := range validation.QualifiedName(lower) {
		at.Invalid(lower, fault)
	}
}

// parameterRules limits the parameters, which only the provisioner interprets.
func parameterRules(at *validation.Path, params map[string]string, needed bool) {
	if needed && len(params) == 0 {
		at.Required("must contain at least one key/value pair")
		return
	}
	if len(params) > maxParameters {
		at.TooLong(maxParameters)
		return
	}
	size := 0
	for key, value := range params {
		if key == "" {
			at.Invalid(key, "field can not be empty.")
		}
		size += len(key) + len(value)
	}
	if size > maxParametersSize {
		at.TooLong(maxParametersSize)
	}
}

func storageClassRules(at *validation.Path, c *storagev1.StorageClass) {
	provisionerName(at.Child("provisioner"), c.Provisioner)
	parameterRules(at.Child("parameters"), c.Parameters, false)
	if p := c.ReclaimPolicy; p != nil && *p != "" {
		validation.OneOf(at.Child("reclaimPolicy"), *p, corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRetain)
	}
	validation.OptionalEnum(at.Child("volumeBindingMode"), c.VolumeBindingMode, storagev1.VolumeBindingImmediate,
		storagev1.VolumeBindingWaitForFirstConsumer)
	topologyRules(at.Child("allowedTopologies"), c.AllowedTopologies)
}

func storageClassChanges(at *validation.Path, obj, old *storagev1.StorageClass) {
	storageClassRules(at, obj)
	validation.Immutable(at.Child("parameters"), obj.Parameters, old.Parameters)
	validation.Immutable(at.Child("provisioner"), obj.Provisioner, old.Provisioner)
	validation.Immutable(at.Child("reclaimPolicy"), obj.ReclaimPolicy, old.ReclaimPolicy)
	validation.Immutable(at.Child("volumeBindingMode"), obj.VolumeBindingMode, old.VolumeBindingMode)
}

// maxDuplicateTerms is the maximum number of errors for duplicate terms.
const maxDuplicateTerms = 1000

// topologyRules refuses duplicate terms. kube-apiserver compares a term with as many empty
// terms as there are terms, so that it reports an empty term that many times.
func topologyRules(at *validation.Path, terms []corev1.TopologySelectorTerm) {
	seen, listed := map[string]int{"map[]": len(terms)}, 0
	validation.Each(at, terms, func(at *validation.Path, t *corev1.TopologySelectorTerm) {
		var keys validation.Unique[string]
		term := map[string]string{}
		validation.Each(at.Child("matchLabelExpressions"), t.MatchLabelExpressions,
			func(at *validation.Path, r *corev1.TopologySelectorLabelRequirement) {
				if len(r.Values) == 0 {
					at.Child("values").Required("")
				}
				var values validation.Unique[string]
				for i, value := range r.Values {
					values.Add(at.Child("values").Index(i), value)
				}
				validation.Format(at.Child("key"), r.Key, validation.QualifiedName)
				keys.Add(at.Child("key"), r.Key)
				term[r.Key] = joinedSet(r.Values)
			})
		key := fmt.Sprintf("%q", term)
		for range min(seen[key], maxDuplicateTerms-listed) {
			at.Child("matchLabelExpressions").Duplicate("")
			listed++
		}
		seen[key]++
	})
}

func csiDriverRules(at *validation.Path, d *storagev1.CSIDriver) {
	spec := at.Child("spec")
	for _, f := range []struct {
		name  string
		value *bool
	}{{"attachedRequired", d.Spec.AttachRequired}, {"podInfoOnMount", d.Spec.PodInfoOnMount}, {"storageCapacity", d.Spec.StorageCapacity}} {
		if f.value == nil {
			spec.Child(f.name).Required("")
		}
	}
	validation.OptionalEnum(spec.Child("fsGroupPolicy"), d.Spec.FSGroupPolicy,
		storagev1.FileFSGroupPolicy, storagev1.NoneFSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	tokenRequestRules(spec.Child("tokenRequests"), d.Spec.TokenRequests)
	for _, mode := range d.Spec.VolumeLifecycleModes {
		validation.OneOf(spec.Child("volumeLifecycleModes"), mode, storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral)
	}
	if d.Spec.SELinuxMount == nil {
		spec.Child("seLinuxMount").Required("")
	}
	if p := d.Spec.NodeAllocatableUpdatePeriodSeconds; p != nil && *p < 10 {
		spec.Child("nodeAllocatableUpdatePeriodSeconds").Invalid(*p, "must be greater than or equal to 10 seconds")
	}
	if s := d.Spec.ServiceAccountTokenInSecrets; s != nil && len(d.Spec.TokenRequests) == 0 {
		spec.Child("serviceAccountTokenInSecrets").Invalid(*s, "serviceAccountTokenInSecrets is set but no tokenRequests are specified")
	}
}

func csiDriverChanges(at *validation.Path, obj, old *storagev1.CSIDriver) {
	csiDriverRules(at, obj)
	validation.Immutable(at.Child("spec").Child("attachedRequired"), obj.Spec.AttachRequired, old.Spec.AttachRequired)
	validation.Immutable(at.Child("spec").Child("volumeLifecycleModes"), obj.Spec.VolumeLifecycleModes, old.Spec.VolumeLifecycleModes)
}

func tokenRequestRules(at *validation.Path, requests []storagev1.TokenRequest) {
	var audiences validation.Unique[string]
	validation.Each(at, requests, func(at *validation.Path, r *storagev1.TokenRequest) {
		if audiences.Add(at.Child("audience"), r.Audience) && r.ExpirationSeconds != nil {
			tokenExpiry(at.Child("expirationSeconds"), *r.ExpirationSeconds)
		}
	})
}

// tokenExpiry limits the lifetime of a token.
func tokenExpiry(at *validation.Path, seconds int64) {
	if seconds < int64((10 * time.Minute).Seconds()) {
		at.Invalid(seconds, "may not specify a duration less than 10 minutes")
	}
	if seconds > 1<<32 {
		at.Invalid(seconds, "may not specify a duration larger than 2^32 seconds")
	}
}

func csiNodeRules(at *validation.Path, n *storagev1.CSINode) {
	var names validation.Unique[string]
	validation.Each(at.Child("spec").Child("drivers"), n.Spec.Drivers, func(at *validation.Path, d *storagev1.CSINodeDriver) {
		validation.DriverName(at.Child("name"), d.Name)
		if validation.Required(at.Child("nodeID"), d.NodeID) && len(d.NodeID) > maxNodeID {
			at.Child("nodeID").Invalid(d.NodeID, "must be "+validation.FormatInteger(maxNodeID)+" characters or less")
		}
		if d.Allocatable != nil {
			validation.OptionalNonNegative(at.Child("allocatable").Child("count"), d.Allocatable.Count)
		}
		names.Add(at.Child("name"), d.Name)
		var keys validation.Unique[string]
		for _, key := range d.TopologyKeys {
			validation.Required(at, key)
			keys.Add(at, key)
			for _, fault := range validation.QualifiedName(key) {
				at.Invalid(key, fault)
			}
		}
	})
}

// csiNodeChanges permits changes of the number of allocatable volumes of a registered
// driver, if the gate is enabled, and no others.
func csiNodeChanges(at *validation.Path, obj, stored *storagev1.CSINode) {
	csiNodeRules(at, obj)
	for _, old := range stored.Spec.Drivers {
		for _, d := range obj.Spec.Drivers {
			if d.Name == old.Name {
				if at.Enabled(features.MutableCSINodeAllocatableCount) {
					d.Allocatable, old.Allocatable = nil, nil
				}
				validation.Immutable(at.Child("spec").Child("drivers"), d, old)
			}
		}
	}
}

// Limits of the health that drivers report.
const (
	maxHealthConditions    = 16
	maxHealthReasonLength  = 256
	maxHealthMessageLength = 1024
)

func csiNodeStatusChanges(at *validation.Path, obj, _ *storagev1.CSINode) {
	var names validation.Unique[string]
	validation.Each(at.Child("status").Child("storageHealth"), obj.Status.StorageHealth,
		func(at *validation.Path, h *storagev1.StorageHealth) {
			names.Add(at, h.Name)
			validation.DriverName(at.Child("name"), h.Name)
			conditions := at.Child("healthConditions")
			if n := len(h.HealthConditions); n > maxHealthConditions {
				conditions.TooMany(n, maxHealthConditions)
				return
			}
			validation.Each(conditions, h.HealthConditions, healthConditionRules)
		})
}

func healthConditionRules(at *validation.Path, c *storagev1.StorageHealthCondition) {
	validation.OneOf(at.Child("status"), c.Status, storagev1.StorageDegraded, storagev1.StorageUnreachable)
	reason := at.Child("reason")
	if validation.Required(reason, c.Reason) {
		validation.Format(reason, c.Reason, metav1validation.IsValidConditionReason)
		if len(c.Reason) > maxHealthReasonLength {
			reason.TooLong(maxHealthReasonLength)
		}
	}
	if len(c.Message) > maxHealthMessageLength {
		at.Child("message").TooLong(maxHealthMessageLength)
	}
	validation.OptionalEnum(at.Child("accessMode"), c.AccessMode, corev1.ReadOnlyMany, corev1.ReadWriteMany,
		corev1.ReadWriteOnce, corev1.ReadWriteOncePod)
	validation.OptionalEnum(at.Child("volumeMode"), c.VolumeMode, corev1.PersistentVolumeFilesystem, corev1.PersistentVolumeBlock)
}

func csiStorageCapacityRules(at *validation.Path, c *storagev1.CSIStorageCapacity) {
	validation.SelectorRules(at.Child("nodeTopology"), c.NodeTopology)
	validation.Format(at.Child("storageClassName"), c.StorageClassName, validation.DNSSubdomain)
	if c.Capacity != nil {
		validation.NonNegativeQuantity(at.Child("capacity"), *c.Capacity)
	}
}

func csiStorageCapacityChanges(at *validation.Path, obj, old *storagev1.CSIStorageCapacity) {
	csiStorageCapacityRules(at, obj)
	validation.Immutable(at.Child("nodeTopology"), obj.NodeTopology, old.NodeTopology)
	validation.Immutable(at.Child("storageClassName"), obj.StorageClassName, old.StorageClassName)
}

func volumeAttributesClassRules(at *validation.Path, c *storagev1.VolumeAttributesClass) {
	provisionerName(at.Child("driverName"), c.DriverName)
	parameterRules(at.Child("parameters"), c.Parameters, true)
}

func volumeAttributesClassChanges(at *validation.Path, obj, old *storagev1.VolumeAttributesClass) {
	if obj.DriverName != old.DriverName {
		at.Child("driverName").Forbidden("updates to driverName are forbidden.")
	}
	if !maps.Equal(obj.Parameters, old.Parameters) {
		at.Child("parameters").Forbidden("updates to parameters are forbidden.")
	}
}

// joinedSet returns a string that does not depend on the order of values.
func joinedSet(values []string) string {
	sorted := slices.Sorted(slices.Values(values))
	return strings.Join(slices.Compact(sorted), "\x00")
}
