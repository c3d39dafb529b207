package resource_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestNodeResourceRules(t *testing.T) {
	k := kindtest.New(t, "resourceslices.v1.resource.k8s.io", slice, "DRADeviceBindingConditions", "DRANodeAllocatableResources", "DRAOptionalNodeOperations", "DRAPartitionableDevices", "DRAPartitionableDevicesType", "DRAResourcePoolStatus").With(
		"spec.devices[0].capacity: {m: {value: 1}}")
	k.Create(kindtest.Rules{
		{"the resources are those of nodes",
			"spec.devices[0].nodeAllocatableResources: {cpu: {overhead: {perPod: 1}}}",
			"spec.devices[0].nodeAllocatableResources: {pods: {overhead: {perPod: 1}}}",
			`spec.devices[0].nodeAllocatableResources[pods]: Invalid value: "pods": must be a node ` +
				"allocatable resource name"},
		{"huge pages are resources of nodes",
			"spec.devices[0].nodeAllocatableResources: {hugepages-2Mi: {overhead: {perPod: 1}}}",
			"spec.devices[0].nodeAllocatableResources: {hugepages: {overhead: {perPod: 1}}}",
			`spec.devices[0].nodeAllocatableResources[hugepages]: Invalid value: "hugepages": must ` +
				"be a node allocatable resource name"},
		{"a resource has a mapping or overhead",
			"spec.devices[0].nodeAllocatableResources: {memory: {overhead: {perPod: 0}}}",
			"spec.devices[0].nodeAllocatableResources: {memory: {}}",
			"spec.devices[0].nodeAllocatableResources[memory]: Required value: at least one of " +
				"mapping or overhead must be set"},
		{"overhead is per pod or per container",
			"spec.devices[0].nodeAllocatableResources: {cpu: {overhead: {perContainer: 1}}}",
			"spec.devices[0].nodeAllocatableResources: {cpu: {overhead: {}}}",
			`spec.devices[0].nodeAllocatableResources[cpu].overhead: Invalid value: "": at least one ` +
				"of perPod or perContainer must be set"},
		{"overhead is not negative",
			"spec.devices[0].nodeAllocatableResources: {cpu: {overhead: {perPod: 0, perContainer: 0}}}",
			"spec.devices[0].nodeAllocatableResources: {cpu: {overhead: {perPod: -1, perContainer: -2}}}",
			`spec.devices[0].nodeAllocatableResources[cpu].overhead.perPod: Invalid value: "-1": ` +
				"must be non-negative; " +
				"spec.devices[0].nodeAllocatableResources[cpu].overhead.perContainer: Invalid value: " +
				`"-2": must be non-negative`},
		{"a mapping refers to a capacity",
			"spec.devices[0].nodeAllocatableResources: {cpu: {mapping: {capacityKey: m, " +
				"capacityMultiplier: 1}}}",
			"spec.devices[0].nodeAllocatableResources: {cpu: {mapping: {capacityKey: z, " +
				"capacityMultiplier: 1}}}",
			`spec.devices[0].nodeAllocatableResources[cpu].mapping.capacityKey: Not found: "z"`},
		{"the key of a capacity is not empty",
			"spec.devices[0].nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: 1}}}",
			`spec.devices[0].nodeAllocatableResources: {cpu: {mapping: {capacityKey: "", ` +
				"capacityMultiplier: 1}}}",
			`spec.devices[0].nodeAllocatableResources[cpu].mapping.capacityKey: Invalid value: "": ` +
				"capacityKey must not be an empty string"},
		{"a key has a multiplier",
			"spec.devices[0].nodeAllocatableResources: {cpu: {mapping: {capacityKey: m, " +
				"capacityMultiplier: 1}}}",
			"spec.devices[0].nodeAllocatableResources: {cpu: {mapping: {capacityKey: m}}}",
			"spec.devices[0].nodeAllocatableResources[cpu].mapping.capacityMultiplier: Required " +
				"value: capacityMultiplier is required when capacityKey is set"},
		{"a multiplier has a key",
			"spec.devices[0].nodeAllocatableResources: {cpu: {mapping: {capacityKey: m, " +
				"capacityMultiplier: 1}}}",
			"spec.devices[0].nodeAllocatableResources: {cpu: {mapping: {capacityMultiplier: 1}}}",
			"spec.devices[0].nodeAllocatableResources[cpu].mapping.capacityKey: Required value: " +
				"capacityKey is required when capacityMultiplier is set; " +
				`spec.devices[0].nodeAllocatableResources[cpu].mapping: Invalid value: "": must specify ` +
				"one of: `capacityKey`, `deviceMultiplier`"},
		{"a multiplier is positive",
			"spec.devices[0].nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: 1}}}",
			"spec.devices[0].nodeAllocatableResources: {cpu: {mapping: {capacityKey: m, " +
				"capacityMultiplier: 0, deviceMultiplier: 0}}}",
			"spec.devices[0].nodeAllocatableResources[cpu].mapping.capacityMultiplier: Invalid " +
				`value: "0": must be positive; ` +
				"spec.devices[0].nodeAllocatableResources[cpu].mapping.deviceMultiplier: Invalid value: " +
				`"0": must be positive; spec.devices[0].nodeAllocatableResources[cpu].mapping: Invalid ` +
				"value: \"{capacityKey, deviceMultiplier}\": must specify exactly one of: `capacityKey`, " +
				"`deviceMultiplier`"},
	})
}
