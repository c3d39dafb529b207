package resource

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// nodeResourceRules validates what an allocation of the device d takes of a resource of the node.
func nodeResourceRules(at *validation.Path, name corev1.ResourceName, d *resourcev1.Device) {
	if name != corev1.ResourceCPU && name != corev1.ResourceMemory && !validation.IsHugePages(name) {
		at.Invalid(name, "must be a node allocatable resource name")
	}
	r := d.NodeAllocatableResources[name]
	if r.Mapping == nil && r.Overhead == nil {
		at.Required("at least one of mapping or overhead must be set")
	}
	if m := r.Mapping; m != nil {
		nodeMappingRules(at.Child("mapping"), m, d.Capacity)
	}
	if o := r.Overhead; o != nil {
		at := at.Child("overhead")
		if o.PerPod == nil && o.PerContainer == nil {
			at.Invalid("", "at least one of perPod or perContainer must be set")
		}
		validation.IfPresent(at.Child("perPod"), o.PerPod, notNegative)
		validation.IfPresent(at.Child("perContainer"), o.PerContainer, notNegative)
	}
}

func nodeMappingRules(at *validation.Path, m *resourcev1.NodeAllocatableMapping,
	capacity map[resourcev1.QualifiedName]resourcev1.DeviceCapacity) {
	key, multiplier := at.Child("capacityKey"), at.Child("capacityMultiplier")
	if m.CapacityKey != nil {
		if *m.CapacityKey == "" {
			key.Invalid("", "capacityKey must not be an empty string")
		} else if _, ok := capacity[*m.CapacityKey]; !ok {
			key.NotFound(*m.CapacityKey)
		}
		if m.CapacityMultiplier == nil {
			multiplier.Required("capacityMultiplier is required when capacityKey is set")
		} else {
			positive(multiplier, m.CapacityMultiplier)
		}
	}
	validation.IfPresent(at.Child("deviceMultiplier"), m.DeviceMultiplier, positive)
	if m.CapacityMultiplier != nil && m.CapacityKey == nil {
		key.Required("capacityKey is required when capacityMultiplier is set")
	}
}

func positive(at *validation.Path, q *resource.Quantity) {
	if q.Sign() <= 0 {
		at.Invalid(q.String(), "must be positive")
	}
}

func notNegative(at *validation.Path, q *resource.Quantity) {
	if q.Sign() < 0 {
		at.Invalid(q.String(), "must be non-negative")
	}
}
