package resource_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestRequestPolicyValueRules(t *testing.T) {
	k := kindtest.New(t, "resourceslices.v1.resource.k8s.io", slice, "DRAConsumableCapacity").With(
		"spec.devices[0].allowMultipleAllocations: true; spec.devices[0].capacity: {m: {value: 10, " +
			"requestPolicy: {default: 5, validValues: [1, 5]}}}")
	k.Create(kindtest.Rules{
		{"a policy has values or a range",
			"spec.devices[0].capacity.m.requestPolicy: {default: 5, validRange: {min: 1}}",
			"spec.devices[0].capacity.m.requestPolicy.validRange: {min: 1}",
			"spec.devices[0].capacity[m].requestPolicy: Forbidden: exactly one policy can be " +
				`specified, cannot specify "validValues" and "validRange" at the same time`},
		{"values have a default", "spec.devices[0].capacity.m.requestPolicy.default: 1",
			"spec.devices[0].capacity.m.requestPolicy.default: null",
			"spec.devices[0].capacity[m].requestPolicy.default: Required value: required when " +
				"validValues is defined"},
		{"the default is one of the values", "spec.devices[0].capacity.m.requestPolicy.default: 1",
			"spec.devices[0].capacity.m.requestPolicy.default: 2",
			`spec.devices[0].capacity[m].requestPolicy.validValues: Invalid value: "2": default ` +
				"value is not valid according to the requestPolicy"},
		{"values are sorted", "spec.devices[0].capacity.m.requestPolicy.validValues: [1, 2, 5]",
			"spec.devices[0].capacity.m.requestPolicy.validValues: [2, 1, 5]",
			`spec.devices[0].capacity[m].requestPolicy.validValues[1]: Invalid value: "1": values ` +
				"must be sorted in ascending order"},
		{"values are distinct", "spec.devices[0].capacity.m.requestPolicy.validValues: [5, 6]",
			"spec.devices[0].capacity.m.requestPolicy.validValues: [5, 5]",
			`spec.devices[0].capacity[m].requestPolicy.validValues[1]: Duplicate value: "5"`},
		{"a value is not larger than the capacity", "spec.devices[0].capacity.m.requestPolicy.validValues: [5, 10]",
			"spec.devices[0].capacity.m.requestPolicy.validValues: [5, 11]",
			`spec.devices[0].capacity[m].requestPolicy.validValues[1]: Invalid value: "11": option ` +
				"is larger than capacity value: 10"},
		{"at most ten values",
			"spec.devices[0].capacity.m.requestPolicy.validValues: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]",
			"spec.devices[0].capacity.m.requestPolicy.validValues: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]",
			"spec.devices[0].capacity[m].requestPolicy.validValues: Too many: 11: must have at most " +
				`10 items; spec.devices[0].capacity[m].requestPolicy.validValues: Invalid value: "5": ` +
				"default value is not valid according to the requestPolicy"},
	})
}

func TestRequestPolicyRangeRules(t *testing.T) {
	k := kindtest.New(t, "resourceslices.v1.resource.k8s.io", slice, "DRAConsumableCapacity").With(
		"spec.devices[0].allowMultipleAllocations: true; spec.devices[0].capacity: {m: {value: 10, " +
			"requestPolicy: {default: 4, validRange: {min: 2, max: 8, step: 2}}}}")
	k.Create(kindtest.Rules{
		{"a range has a default", "spec.devices[0].capacity.m.requestPolicy.default: 6",
			"spec.devices[0].capacity.m.requestPolicy.default: null",
			"spec.devices[0].capacity[m].requestPolicy.default: Required value: required when " +
				"validRange is defined"},
		{"a range has a minimum", "spec.devices[0].capacity.m.requestPolicy.validRange: {min: 2}",
			"spec.devices[0].capacity.m.requestPolicy.validRange: {max: 8}",
			"spec.devices[0].capacity[m].requestPolicy.validRange.min: Required value: required when " +
				"validRange is defined"},
		{"the minimum is not larger than the capacity",
			"spec.devices[0].capacity.m.requestPolicy: {default: 10, validRange: {min: 10}}",
			"spec.devices[0].capacity.m.requestPolicy: {default: 11, validRange: {min: 11}}",
			`spec.devices[0].capacity[m].requestPolicy.validRange.min: Invalid value: "11": min is ` +
				"larger than capacity value: 10"},
		{"the default is not less than the minimum", "spec.devices[0].capacity.m.requestPolicy.default: 2",
			"spec.devices[0].capacity.m.requestPolicy.default: 0",
			`spec.devices[0].capacity[m].requestPolicy.validRange.default: Invalid value: "0": ` +
				"default is less than min: 2"},
		{"the default is not more than the maximum", "spec.devices[0].capacity.m.requestPolicy.default: 8",
			"spec.devices[0].capacity.m.requestPolicy.default: 10",
			`spec.devices[0].capacity[m].requestPolicy.validRange.default: Invalid value: "10": ` +
				"default is more than max: 8"},
		{"the minimum is not larger than the maximum",
			"spec.devices[0].capacity.m.requestPolicy: {default: 2, validRange: {min: 2, max: 2}}",
			"spec.devices[0].capacity.m.requestPolicy: {default: 2, validRange: {min: 2, max: 1}}",
			`spec.devices[0].capacity[m].requestPolicy.validRange.max: Invalid value: "2": min is ` +
				"larger than max: 1; spec.devices[0].capacity[m].requestPolicy.validRange.default: " +
				`Invalid value: "2": default is more than max: 1`},
		{"the maximum is not larger than the capacity", "spec.devices[0].capacity.m.requestPolicy.validRange.max: 10",
			"spec.devices[0].capacity.m.requestPolicy.validRange.max: 12",
			`spec.devices[0].capacity[m].requestPolicy.validRange.max: Invalid value: "12": max is ` +
				"larger than capacity value: 10"},
		{"a step is positive", "spec.devices[0].capacity.m.requestPolicy.validRange.step: 1",
			"spec.devices[0].capacity.m.requestPolicy.validRange.step: 0",
			`spec.devices[0].capacity[m].requestPolicy.validRange.step: Invalid value: "0": must be ` +
				"greater than zero"},
		{"one step is not larger than the capacity",
			"spec.devices[0].capacity.m.requestPolicy: {default: 2, validRange: {min: 2, step: 8}}",
			"spec.devices[0].capacity.m.requestPolicy: {default: 2, validRange: {min: 2, step: 9}}",
			`spec.devices[0].capacity[m].requestPolicy.validRange.step: Invalid value: "9": one step ` +
				"11 is larger than capacity value: 10"},
		{"the default is a number of steps above the minimum", "spec.devices[0].capacity.m.requestPolicy.default: 6",
			"spec.devices[0].capacity.m.requestPolicy.default: 5",
			`spec.devices[0].capacity[m].requestPolicy.validRange.step: Invalid value: "5": value is ` +
				"not a multiple of a given step (2) from (2)"},
		{"the maximum is a number of steps above the minimum",
			"spec.devices[0].capacity.m.requestPolicy.validRange.max: 6",
			"spec.devices[0].capacity.m.requestPolicy.validRange.max: 7",
			`spec.devices[0].capacity[m].requestPolicy.validRange.step: Invalid value: "7": value is ` +
				"not a multiple of a given step (2) from (2)"},
		{"a range is not negative", "spec.devices[0].capacity.m.requestPolicy.validRange.min: 0",
			"spec.devices[0].capacity.m.requestPolicy.validRange: {min: -1, max: 7, step: 2}",
			`spec.devices[0].capacity[m].requestPolicy.validRange.min: Invalid value: "-1": must be ` +
				"greater than or equal to 0"},
		{"a range has 64 bits",
			"spec.devices[0].capacity.m: {value: 100E, requestPolicy: {default: 3, validRange: {min: " +
				"1, max: 9, step: 2}}}",
			"spec.devices[0].capacity.m: {value: 100E, requestPolicy: {default: 10E, validRange: " +
				"{min: 1, max: 99E, step: 2}}}",
			`spec.devices[0].capacity[m].requestPolicy.validRange.default: Invalid value: "10E": ` +
				"must not be larger than 9223372036854775807; " +
				`spec.devices[0].capacity[m].requestPolicy.validRange.max: Invalid value: "99E": must ` +
				"not be larger than 9223372036854775807"},
	})
}

func TestFractionalCapacityRules(t *testing.T) {
	k := kindtest.New(t, "resourceslices.v1.resource.k8s.io", slice, "DRAConsumableCapacity", "DRAFractionalCapacityRange").With(
		"spec.devices[0].allowMultipleAllocations: true")
	k.Create(kindtest.Rules{
		{"fractions are distinct",
			"spec.devices[0].capacity: {m: {value: 10, requestPolicy: {default: 5, validValues: " +
				"[500m, 600m, 5]}}}",
			"spec.devices[0].capacity: {m: {value: 10, requestPolicy: {default: 5, validValues: " +
				"[500m, 500m, 5]}}}",
			`spec.devices[0].capacity[m].requestPolicy.validValues[1]: Duplicate value: "0.500"`},
		{"a step may be a fraction",
			"spec.devices[0].capacity: {m: {value: 10, requestPolicy: {default: 1100m, validRange: " +
				"{min: 500m, max: 2, step: 300m}}}}",
			"spec.devices[0].capacity: {m: {value: 10, requestPolicy: {default: 1, validRange: {min: " +
				"500m, max: 2, step: 300m}}}}",
			`spec.devices[0].capacity[m].requestPolicy.validRange.step: Invalid value: "1": value is ` +
				"not a multiple of a given step (300m) from (500m)"},
		{"a fraction is a number of thousandths",
			"spec.devices[0].capacity: {m: {value: 10, requestPolicy: {default: 1, validRange: {min: " +
				"500m, max: 2, step: 500m}}}}",
			"spec.devices[0].capacity: {m: {value: 10, requestPolicy: {default: 1, validRange: {min: " +
				"500u, max: 2, step: 1}}}}",
			`spec.devices[0].capacity[m].requestPolicy.validRange.min: Invalid value: "500u": value ` +
				"cannot be represented as a milli value"},
	})
}
