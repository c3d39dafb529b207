package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

const (
	maxParameters     = 512
	maxParametersSize = 256 << 10
	maxVolumeError    = 1024
	maxNodeID         = 256
)

// provisionerName is the name of who provides volumes.
func provisionerName(at *place, name string) {
	if !required(at, name) {
		return
	}
	lower := strings.ToLower(name)
	for _, fault := range qualifiedName(lower) {
		at.invalid(lower, fault)
	}
}

// parameterRules bound what is handed to a provisioner unread.
func parameterRules(at *place, params map[string]string, needed bool) {
	if needed && len(params) == 0 {
		at.required("must contain at least one key/value pair")
		return
	}
	if len(params) > maxParameters {
		at.tooLong(maxParameters)
		return
	}
	size := 0
	for key, value := range params {
		if key == "" {
			at.invalid(key, "field can not be empty.")
		}
		size += len(key) + len(value)
	}
	if size > maxParametersSize {
		at.tooLong(maxParametersSize)
	}
}

func storageClassRules(at *place, c *storagev1.StorageClass) {
	provisionerName(at.of("provisioner"), c.Provisioner)
	parameterRules(at.of("parameters"), c.Parameters, false)
	if p := c.ReclaimPolicy; p != nil && *p != "" {
		oneOf(at.of("reclaimPolicy"), *p, corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRetain)
	}
	optionalEnum(at.of("volumeBindingMode"), c.VolumeBindingMode, storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer)
	topologyRules(at.of("allowedTopologies"), c.AllowedTopologies)
}

func storageClassChanges(at *place, is, was *storagev1.StorageClass) {
	storageClassRules(at, is)
	fixed(at.of("parameters"), is.Parameters, was.Parameters)
	fixed(at.of("provisioner"), is.Provisioner, was.Provisioner)
	fixed(at.of("reclaimPolicy"), is.ReclaimPolicy, was.ReclaimPolicy)
	fixed(at.of("volumeBindingMode"), is.VolumeBindingMode, was.VolumeBindingMode)
}

// maxDuplicateTerms bounds how often duplicate terms are listed.
const maxDuplicateTerms = 1000

// topologyRules checks that each term is another set of places. kube-apiserver compares
// a term with as many empty ones as there are terms, so that an empty term is listed
// that often.
func topologyRules(at *place, terms []corev1.TopologySelectorTerm) {
	seen, listed := map[string]int{"map[]": len(terms)}, 0
	each(at, terms, func(at *place, t *corev1.TopologySelectorTerm) {
		var keys unique[string]
		term := map[string]string{}
		each(at.of("matchLabelExpressions"), t.MatchLabelExpressions, func(at *place, r *corev1.TopologySelectorLabelRequirement) {
			if len(r.Values) == 0 {
				at.of("values").required("")
			}
			var values unique[string]
			for i, value := range r.Values {
				values.add(at.of("values").item(i), value)
			}
			format(at.of("key"), r.Key, qualifiedName)
			keys.add(at.of("key"), r.Key)
			term[r.Key] = joinedSet(r.Values)
		})
		key := fmt.Sprintf("%q", term)
		for range min(seen[key], maxDuplicateTerms-listed) {
			at.of("matchLabelExpressions").duplicate("")
			listed++
		}
		seen[key]++
	})
}

func csiDriverRules(at *place, d *storagev1.CSIDriver) {
	spec := at.of("spec")
	for _, f := range []struct {
		name  string
		value *bool
	}{{"attachedRequired", d.Spec.AttachRequired}, {"podInfoOnMount", d.Spec.PodInfoOnMount}, {"storageCapacity", d.Spec.StorageCapacity}} {
		if f.value == nil {
			spec.of(f.name).required("")
		}
	}
	optionalEnum(spec.of("fsGroupPolicy"), d.Spec.FSGroupPolicy,
		storagev1.FileFSGroupPolicy, storagev1.NoneFSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	tokenRequestRules(spec.of("tokenRequests"), d.Spec.TokenRequests)
	for _, mode := range d.Spec.VolumeLifecycleModes {
		oneOf(spec.of("volumeLifecycleModes"), mode, storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral)
	}
	if d.Spec.SELinuxMount == nil {
		spec.of("seLinuxMount").required("")
	}
	if p := d.Spec.NodeAllocatableUpdatePeriodSeconds; p != nil && *p < 10 {
		spec.of("nodeAllocatableUpdatePeriodSeconds").invalid(*p, "must be greater than or equal to 10 seconds")
	}
	if s := d.Spec.ServiceAccountTokenInSecrets; s != nil && len(d.Spec.TokenRequests) == 0 {
		spec.of("serviceAccountTokenInSecrets").invalid(*s, "serviceAccountTokenInSecrets is set but no tokenRequests are specified")
	}
}

func csiDriverChanges(at *place, is, was *storagev1.CSIDriver) {
	csiDriverRules(at, is)
	fixed(at.of("spec").of("attachedRequired"), is.Spec.AttachRequired, was.Spec.AttachRequired)
	fixed(at.of("spec").of("volumeLifecycleModes"), is.Spec.VolumeLifecycleModes, was.Spec.VolumeLifecycleModes)
}

func tokenRequestRules(at *place, requests []storagev1.TokenRequest) {
	var audiences unique[string]
	each(at, requests, func(at *place, r *storagev1.TokenRequest) {
		if audiences.add(at.of("audience"), r.Audience) && r.ExpirationSeconds != nil {
			tokenExpiry(at.of("expirationSeconds"), *r.ExpirationSeconds)
		}
	})
}

// tokenExpiry bounds how long a token may live.
func tokenExpiry(at *place, seconds int64) {
	if seconds < int64((10 * time.Minute).Seconds()) {
		at.invalid(seconds, "may not specify a duration less than 10 minutes")
	}
	if seconds > 1<<32 {
		at.invalid(seconds, "may not specify a duration larger than 2^32 seconds")
	}
}

func csiNodeRules(at *place, n *storagev1.CSINode) {
	var names unique[string]
	each(at.of("spec").of("drivers"), n.Spec.Drivers, func(at *place, d *storagev1.CSINodeDriver) {
		driverName(at.of("name"), d.Name)
		if required(at.of("nodeID"), d.NodeID) && len(d.NodeID) > maxNodeID {
			at.of("nodeID").invalid(d.NodeID, "must be "+decimal(maxNodeID)+" characters or less")
		}
		if d.Allocatable != nil {
			optionalNonNegative(at.of("allocatable").of("count"), d.Allocatable.Count)
		}
		names.add(at.of("name"), d.Name)
		var keys unique[string]
		for _, key := range d.TopologyKeys {
			required(at, key)
			keys.add(at, key)
			for _, fault := range qualifiedName(key) {
				at.invalid(key, fault)
			}
		}
	})
}

// csiNodeChanges: a driver on a node stays as it registered itself, but for
// how many volumes it can take.
func csiNodeChanges(at *place, is, was *storagev1.CSINode) {
	csiNodeRules(at, is)
	for _, old := range was.Spec.Drivers {
		for _, d := range is.Spec.Drivers {
			if d.Name == old.Name {
				d.Allocatable, old.Allocatable = nil, nil
				fixed(at.of("spec").of("drivers"), d, old)
			}
		}
	}
}

func csiStorageCapacityRules(at *place, c *storagev1.CSIStorageCapacity) {
	format(at.of("storageClassName"), c.StorageClassName, dnsSubdomain)
	selectorRules(at.of("nodeTopology"), c.NodeTopology)
	if c.Capacity != nil {
		nonNegativeQuantity(at.of("capacity"), *c.Capacity)
	}
}

func csiStorageCapacityChanges(at *place, is, was *storagev1.CSIStorageCapacity) {
	csiStorageCapacityRules(at, is)
	fixed(at.of("nodeTopology"), is.NodeTopology, was.NodeTopology)
	fixed(at.of("storageClassName"), is.StorageClassName, was.StorageClassName)
}

func volumeAttributesClassRules(at *place, c *storagev1.VolumeAttributesClass) {
	provisionerName(at.of("driverName"), c.DriverName)
	parameterRules(at.of("parameters"), c.Parameters, true)
}

func volumeAttributesClassChanges(at *place, is, was *storagev1.VolumeAttributesClass) {
	volumeAttributesClassRules(at, is)
	if is.DriverName != was.DriverName {
		at.of("driverName").forbidden("updates to driverName are forbidden.")
	}
	if !maps.Equal(is.Parameters, was.Parameters) {
		at.of("parameters").forbidden("updates to parameters are forbidden.")
	}
}

// joinedSet is the same string for the same values in any order.
func joinedSet(values []string) string {
	sorted := slices.Sorted(slices.Values(values))
	return strings.Join(slices.Compact(sorted), "\x00")
}
