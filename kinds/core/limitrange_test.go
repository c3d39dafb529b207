package core_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const limitRange = `spec:
  limits:
  - type: Container
    min: {cpu: 100m}
    max: {cpu: 2}`

func TestLimitRangeRules(t *testing.T) {
	kindtest.New(t, "limitranges.v1", limitRange).Create(kindtest.Rules{
		{"type", "spec.limits[0].type: example.com/a", "spec.limits[0].type: Node",
			`spec.limits[0].type: Invalid value: "Node": must be a standard limit type or fully qualified`},
		{"format of a type", "spec.limits[0].type: Pod", `spec.limits[0].type: ""`,
			`spec.limits[0].type: Invalid value: "": name part must be non-empty; spec.limits[0].type: ` +
				`Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and ` +
				"must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or " +
				"'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"type twice", "spec.limits[1]: {type: Pod}", "spec.limits[1]: {type: Container}",
			`spec.limits[1].type: Duplicate value: "Container"`},
		{"max below min", "spec.limits[0].max.cpu: 3", "spec.limits[0].max.cpu: 99m",
			`spec.limits[0].min[cpu]: Invalid value: "100m": min value 100m is greater than max value ` +
				`99m; spec.limits[0].defaultRequest[cpu]: Invalid value: "99m": min value 100m is greater ` +
				`than default request value 99m; spec.limits[0].default[cpu]: Invalid value: "100m": min ` +
				"value 100m is greater than default value 99m"},
		{"defaultRequest below min", "spec.limits[0].defaultRequest.cpu: 100m",
			"spec.limits[0].defaultRequest.cpu: 50m",
			`spec.limits[0].defaultRequest[cpu]: Invalid value: "50m": min value 100m is greater than ` +
				"default request value 50m"},
		{"defaultRequest above max", "spec.limits[0].defaultRequest: {cpu: 2}",
			"spec.limits[0].defaultRequest: {cpu: 3}",
			`spec.limits[0].defaultRequest[cpu]: Invalid value: "3": default request value 3 is greater ` +
				`than max value 2; spec.limits[0].defaultRequest[cpu]: Invalid value: "3": default request ` +
				"value 3 is greater than default limit value 2"},
		{"default above max", "spec.limits[0].default: {cpu: 2}", "spec.limits[0].default: {cpu: 3}",
			`spec.limits[0].defaultRequest[cpu]: Invalid value: "3": default request value 3 is greater ` +
				`than max value 2; spec.limits[0].default[cpu]: Invalid value: "2": default value 3 is ` +
				"greater than max value 2"},
		{"default below min", "spec.limits[0].default: {cpu: 1}", "spec.limits[0].default: {cpu: 50m}",
			`spec.limits[0].defaultRequest[cpu]: Invalid value: "50m": min value 100m is greater than ` +
				`default request value 50m; spec.limits[0].default[cpu]: Invalid value: "100m": min value ` +
				"100m is greater than default value 50m"},
		{"defaultRequest above default", "spec.limits[0].default: {cpu: 1}; spec.limits[0].defaultRequest: {cpu: 1}",
			"spec.limits[0].default: {cpu: 1}; spec.limits[0].defaultRequest: {cpu: 2}",
			`spec.limits[0].defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater ` +
				"than default limit value 1"},
		{"default of a pod", "spec.limits[0].type: Pod", "spec.limits[0].type: Pod; spec.limits[0].default: {cpu: 1}",
			"spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"},
		{"defaultRequest of a pod", "spec.limits[0].type: Pod",
			"spec.limits[0].type: Pod; spec.limits[0].defaultRequest: {cpu: 1}",
			"spec.limits[0].defaultRequest: Forbidden: may not be specified when `type` is 'Pod'"},
		{"ratio", "spec.limits[0].maxLimitRequestRatio: {cpu: 20}", "spec.limits[0].maxLimitRequestRatio: {cpu: 21}",
			`spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "21": ratio 21 is greater than ` +
				"max/min = 20.000000"},
		{"ratio below 1", "spec.limits[0].maxLimitRequestRatio: {cpu: 1}",
			"spec.limits[0].maxLimitRequestRatio: {cpu: 900m}",
			`spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "900m": ratio 900m is less than 1`},
		{"resource of a container", "spec.limits[0].max[example.com/a]: 2", "spec.limits[0].max.disk: 2",
			`spec.limits[0].max[disk]: Invalid value: "disk": must be a standard resource type or fully ` +
				`qualified; spec.limits[0].max[disk]: Invalid value: "disk": must be a standard resource for ` +
				`containers; spec.limits[0].default[disk]: Invalid value: "disk": must be a standard ` +
				`resource type or fully qualified; spec.limits[0].default[disk]: Invalid value: "disk": must ` +
				"be a standard resource for containers; spec.limits[0].defaultRequest[disk]: Invalid value: " +
				`"disk": must be a standard resource type or fully qualified; ` +
				`spec.limits[0].defaultRequest[disk]: Invalid value: "disk": must be a standard resource for containers`},
		{"name of a resource", "spec.limits[0].max.memory: 1Gi", "spec.limits[0].max[a b]: 2",
			`spec.limits[0].max[a b]: Invalid value: "a b": name part must consist ...lid value: "a b": ` +
				"must be a standard resource for containers"},
		{"overcommit of a device",
			"spec.limits[0].default[example.com/a]: 2; spec.limits[0].defaultRequest[example.com/a]: 2",
			"spec.limits[0].default[example.com/a]: 2; spec.limits[0].defaultRequest[example.com/a]: 1",
			`spec.limits[0].defaultRequest[example.com/a]: Invalid value: "1": default value 2 must ` +
				"equal to defaultRequest value 1 in example.com/a"},
		{"storage of a claim", "spec.limits: [{type: PersistentVolumeClaim, min: {storage: 1}}]",
			"spec.limits: [{type: PersistentVolumeClaim}]",
			"spec.limits[0].limits: Required value: either minimum or maximum storage value is required, " +
				"but neither was provided"},
	})
}

func TestLimitRangeUpdateRules(t *testing.T) {
	kindtest.New(t, "limitranges.v1", limitRange).Update(kindtest.Rules{
		{"max below min", "spec.limits[0].max.cpu: 3", "spec.limits[0].max.cpu: 99m",
			`spec.limits[0].min[cpu]: Invalid value: "100m": min value 100m is greater than max value ` +
				`99m; spec.limits[0].defaultRequest[cpu]: Invalid value: "2": default request value 2 is ` +
				`greater than max value 99m; spec.limits[0].default[cpu]: Invalid value: "99m": default ` +
				"value 2 is greater than max value 99m"},
	})
}

func TestLimitRangeCreated(t *testing.T) {
	kindtest.New(t, "limitranges.v1", limitRange).Created(kindtest.Cases{
		{"default", "", `spec.limits[0].default.cpu: "2"; spec.limits[0].defaultRequest.cpu: "2"`},
		{"own default", "spec.limits[0].default: {cpu: 1}",
			`spec.limits[0].default.cpu: "1"; spec.limits[0].defaultRequest.cpu: "1"`},
		{"from min", "spec.limits[0].max: {memory: 1Gi}",
			"spec.limits[0].defaultRequest.cpu: 100m; spec.limits[0].default.memory: 1Gi"},
		{"pod", "spec.limits[0].type: Pod", "spec.limits[0].default: null"},
	})
}

func TestLimitRangeColumns(t *testing.T) {
	kindtest.New(t, "limitranges.v1", limitRange).Columns("Name|Created At", kindtest.Cases{
		{"any", "", "x|2026-05-04T11:00:00Z"},
	})
}

// TestLimitRangeItems checks the order of the values of an item.
func TestLimitRangeItems(t *testing.T) {
	k := kindtest.New(t, "limitranges.v1", limitRange).With(
		"spec.limits: [{type: Container, max: {cpu: 4}, min: {cpu: 1}, default: {cpu: 3}, " +
			"defaultRequest: {cpu: 2}}]")
	k.Create(kindtest.Rules{
		{"minimum", "spec.limits[0].min.cpu: 2", "spec.limits[0].min.cpu: 5",
			`spec.limits[0].min[cpu]: Invalid value: "5": min value 5 is greater than max value 4; ` +
				`spec.limits[0].defaultRequest[cpu]: Invalid value: "2": min value 5 is greater than default ` +
				`request value 2; spec.limits[0].default[cpu]: Invalid value: "5": min value 5 is greater ` +
				"than default value 3"},
		{"default request below the minimum", "spec.limits[0].defaultRequest.cpu: 1",
			"spec.limits[0].defaultRequest.cpu: 500m",
			`spec.limits[0].defaultRequest[cpu]: Invalid value: "500m": min value 1 is greater than ` +
				"default request value 500m"},
		{"default request above the default", "spec.limits[0].defaultRequest.cpu: 3",
			"spec.limits[0].defaultRequest.cpu: 3500m",
			`spec.limits[0].defaultRequest[cpu]: Invalid value: "3500m": default request value 3500m is ` +
				"greater than default limit value 3"},
		{"default above the maximum", "spec.limits[0].default.cpu: 4", "spec.limits[0].default.cpu: 5",
			`spec.limits[0].default[cpu]: Invalid value: "4": default value 5 is greater than max value 4`},
		{"default below the minimum", "spec.limits[0].default.cpu: 2",
			"spec.limits[0].default.cpu: 500m; spec.limits[0].defaultRequest: null",
			`spec.limits[0].defaultRequest[cpu]: Invalid value: "500m": min value 1 is greater than ` +
				`default request value 500m; spec.limits[0].default[cpu]: Invalid value: "1": min value 1 is ` +
				"greater than default value 500m"},
		{"ratio", "spec.limits[0].maxLimitRequestRatio: {cpu: 4}", "spec.limits[0].maxLimitRequestRatio: {cpu: 5}",
			`spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "5": ratio 5 is greater than ` +
				"max/min = 4.000000"},
		{"ratio below one", "spec.limits[0].maxLimitRequestRatio: {cpu: 1}",
			"spec.limits[0].maxLimitRequestRatio: {cpu: 500m}",
			`spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1`},
		{"resource", "spec.limits[0].max[example.com/a]: 1", "spec.limits[0].max: {a: 1}",
			`spec.limits[0].max[a]: Invalid value: "a": must be a standard resource type or fully ` +
				`qualified; spec.limits[0].max[a]: Invalid value: "a": must be a standard resource for ` +
				`containers; spec.limits[0].default[a]: Invalid value: "a": must be a standard resource type ` +
				`or fully qualified; spec.limits[0].default[a]: Invalid value: "a": must be a standard ` +
				`resource for containers; spec.limits[0].defaultRequest[a]: Invalid value: "a": must be a ` +
				"standard resource type or fully qualified; spec.limits[0].defaultRequest[a]: Invalid value: " +
				`"a": must be a standard resource for containers`},
		{"type twice", "spec.limits[1]: {type: Pod, max: {cpu: 4}}",
			"spec.limits[1]: {type: Container, max: {cpu: 4}}", `spec.limits[1].type: Duplicate value: "Container"`},
		{"type", "spec.limits[1]: {type: example.com/a, max: {cpu: 1}}",
			`spec.limits[1]: {type: "a b", max: {cpu: 1}}`,
			`spec.limits[1].type: Invalid value: "a b": name part must consist of alphanumeric ` +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
	})
}

// TestLimitRangeTypes checks the values that a type does not have.
func TestLimitRangeTypes(t *testing.T) {
	kindtest.New(t, "limitranges.v1", limitRange).Create(kindtest.Rules{
		{"default of a pod", "spec.limits: [{type: Pod, max: {cpu: 1}}]",
			"spec.limits: [{type: Pod, default: {cpu: 1}}]",
			"spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"},
		{"default request of a pod", "spec.limits: [{type: Pod, min: {cpu: 1}}]",
			"spec.limits: [{type: Pod, defaultRequest: {cpu: 1}}]",
			"spec.limits[0].defaultRequest: Forbidden: may not be specified when `type` is 'Pod'"},
		{"limits of a claim", "spec.limits: [{type: PersistentVolumeClaim, max: {storage: 1Gi}}]",
			"spec.limits: [{type: PersistentVolumeClaim}]",
			"spec.limits[0].limits: Required value: either minimum or maximum storage value is required, " +
				"but neither was provided"},
		{"storage of a claim", "spec.limits: [{type: PersistentVolumeClaim, min: {storage: 1Gi}}]",
			"spec.limits: [{type: PersistentVolumeClaim, max: {cpu: 1}}]",
			"spec.limits[0].limits: Required value: either minimum or maximum storage value is required, " +
				"but neither was provided"},
	})
}

// TestLimitRangeDefaults checks which values of an item the others follow from.
func TestLimitRangeDefaults(t *testing.T) {
	kindtest.New(t, "limitranges.v1", limitRange).Created(kindtest.Cases{
		{"maximum alone", "spec.limits: [{type: Container, max: {cpu: 4}}]",
			`spec.limits: [{"default":{"cpu":"4"},"defaultRequest":{"cpu":"4"},"max":{"cpu":"4"},"type":"` +
				`Container"}]`},
		{"minimum alone", "spec.limits: [{type: Container, min: {cpu: 1}}]",
			`spec.limits: [{"defaultRequest":{"cpu":"1"},"min":{"cpu":"1"},"type":"Container"}]`},
		{"minimum and default", "spec.limits: [{type: Container, min: {cpu: 1}, default: {cpu: 2}}]",
			`spec.limits: [{"default":{"cpu":"2"},"defaultRequest":{"cpu":"2"},"min":{"cpu":"1"},"type":"` +
				`Container"}]`},
		{"pod", "spec.limits: [{type: Pod, max: {cpu: 4}}]", `spec.limits: [{"max":{"cpu":"4"},"type":"Pod"}]`},
	})
}
