package batch_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestIndexedJobLimits(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		"spec.completionMode: Indexed; spec.completions: 200000; spec.parallelism: 10000; " +
			"spec.backoffLimitPerIndex: 1; spec.maxFailedIndexes: 10000")
	k.Create(kindtest.Rules{
		{"parallelism", "spec.parallelism: 10000", "spec.parallelism: 10001",
			"spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when " +
				"completions are above 100000 and used with backoff limit per index"},
		{"parallelism without backoff",
			"spec.parallelism: 100000; spec.backoffLimitPerIndex: null; spec.maxFailedIndexes: null",
			"spec.parallelism: 100001; spec.backoffLimitPerIndex: null; spec.maxFailedIndexes: null",
			"spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when " +
				"completion mode is Indexed"},
		{"maxFailedIndexes", "spec.maxFailedIndexes: 9999", "spec.maxFailedIndexes: 10001",
			"spec.maxFailedIndexes: Invalid value: 10001: must be less than or equal to 10000 when " +
				"completions are above 100000 and used with backoff limit per index"},
		{"no maxFailedIndexes", "spec.completions: 100000; spec.maxFailedIndexes: null",
			"spec.maxFailedIndexes: null",
			"spec.maxFailedIndexes: Required value: must be specified when completions is above 100000"},
		{"more failed than all", "spec.completions: 10; spec.maxFailedIndexes: 10",
			"spec.completions: 10; spec.maxFailedIndexes: 11",
			"spec.maxFailedIndexes: Invalid value: 11: must be less than or equal to completions"},
		{"very many failed", "spec.maxFailedIndexes: 1", "spec.maxFailedIndexes: 100001",
			"spec.maxFailedIndexes: Invalid value: 100001: must be less than or equal to 100000; " +
				"spec.maxFailedIndexes: Invalid value: 100001: must be less than or equal to 10000 when " +
				"completions are above 100000 and used with backoff limit per index"},
		{"backoffLimitPerIndex", "spec.backoffLimitPerIndex: 0", "spec.backoffLimitPerIndex: -1",
			"spec.backoffLimitPerIndex: Invalid value: -1: must be greater than or equal to 0"},
		{"negative maxFailedIndexes", "spec.maxFailedIndexes: 0", "spec.maxFailedIndexes: -1",
			"spec.maxFailedIndexes: Invalid value: -1: must be greater than or equal to 0"},
	})
}

func TestPodFailurePolicy(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		"spec.podFailurePolicy.rules: [{action: FailJob, onExitCodes: {operator: In, values: [1, 5]}}]")
	k.Create(kindtest.Rules{
		{"action", "spec.podFailurePolicy.rules[0].action: Count", "spec.podFailurePolicy.rules[0].action: Other",
			`spec.podFailurePolicy.rules[0].action: Unsupported value: "Other": supported values: ` +
				`"Count", "FailIndex", "FailJob", "Ignore"`},
		{"no action", "spec.podFailurePolicy.rules[0].action: Ignore", `spec.podFailurePolicy.rules[0].action: ""`,
			`spec.podFailurePolicy.rules[0].action: Required value: valid values: ["Count" "FailIndex" ` +
				`"FailJob" "Ignore"]`},
		{"FailIndex without backoff",
			"spec.podFailurePolicy.rules[0].action: FailIndex; spec.completionMode: Indexed; " +
				"spec.completions: 1; spec.backoffLimitPerIndex: 1",
			"spec.podFailurePolicy.rules[0].action: FailIndex",
			`spec.podFailurePolicy.rules[0].action: Invalid value: "FailIndex": requires the ` +
				"backoffLimitPerIndex to be set"},
		{"operator", "spec.podFailurePolicy.rules[0].onExitCodes.operator: NotIn",
			"spec.podFailurePolicy.rules[0].onExitCodes.operator: Equals",
			`spec.podFailurePolicy.rules[0].onExitCodes.operator: Unsupported value: "Equals": supported ` +
				`values: "In", "NotIn"`},
		{"no operator", "spec.podFailurePolicy.rules[0].onExitCodes.operator: In",
			`spec.podFailurePolicy.rules[0].onExitCodes.operator: ""`,
			`spec.podFailurePolicy.rules[0].onExitCodes.operator: Required value: valid values: ["In" "NotIn"]`},
		{"containerName", "spec.podFailurePolicy.rules[0].onExitCodes.containerName: c",
			"spec.podFailurePolicy.rules[0].onExitCodes.containerName: d",
			`spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: "d": must be one ` +
				"of the container or initContainer names in the pod template"},
		{"values", "spec.podFailurePolicy.rules[0].onExitCodes.values: [1]",
			"spec.podFailurePolicy.rules[0].onExitCodes.values: []",
			"spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: []: at least one value is required"},
		{"zero", "spec.podFailurePolicy.rules[0].onExitCodes: {operator: NotIn, values: [0]}",
			"spec.podFailurePolicy.rules[0].onExitCodes.values: [0]",
			"spec.podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for " +
				"the In operator"},
		{"same value twice", "spec.podFailurePolicy.rules[0].onExitCodes.values: [1, 2]",
			"spec.podFailurePolicy.rules[0].onExitCodes.values: [1, 1]",
			"spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Duplicate value: 1"},
		{"order of values", "spec.podFailurePolicy.rules[0].onExitCodes.values: [1, 2]",
			"spec.podFailurePolicy.rules[0].onExitCodes.values: [2, 1]",
			"spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,1]: must be ordered"},
		{"both", `spec.podFailurePolicy.rules: [{action: Ignore, onPodConditions: [{type: A, status: "False"}]}]`,
			"spec.podFailurePolicy.rules[0].onPodConditions: [{type: A}]",
			"spec.podFailurePolicy.rules[0]: Invalid value: specifying both OnExitCodes and " +
				"OnPodConditions is not supported"},
		{"neither", "spec.podFailurePolicy.rules: [{action: Ignore, onPodConditions: [{type: A}]}]",
			"spec.podFailurePolicy.rules: [{action: Ignore}]",
			"spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and " +
				"OnPodConditions is required"},
		{"type of a condition", "spec.podFailurePolicy.rules: [{action: Ignore, onPodConditions: [{type: a.b/c}]}]",
			`spec.podFailurePolicy.rules: [{action: Ignore, onPodConditions: [{type: ""}]}]`,
			`spec.podFailurePolicy.rules[0].onPodConditions[0].type: Invalid value: "": name part must ` +
				`be non-empty; spec.podFailurePolicy.rules[0].onPodConditions[0].type: Invalid value: "": ` +
				"name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end " +
				"with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " +
				"validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"status of a condition",
			"spec.podFailurePolicy.rules: [{action: Ignore, onPodConditions: [{type: A, status: Unknown}]}]",
			"spec.podFailurePolicy.rules: [{action: Ignore, onPodConditions: [{type: A, status: Maybe}]}]",
			`spec.podFailurePolicy.rules[0].onPodConditions[0].status: Unsupported value: "Maybe": ` +
				`supported values: "False", "True", "Unknown"`},
		{"at most 20 rules",
			"spec.podFailurePolicy.rules: [" + strings.Repeat("{action: Ignore, onPodConditions: [{type: A}]},", 20) +
				"]",
			"spec.podFailurePolicy.rules: [" + strings.Repeat("{action: Ignore, onPodConditions: [{type: A}]},", 21) +
				"]", "spec.podFailurePolicy.rules: Too many: 21: must have at most 20 items"},
		{"at most 20 conditions",
			"spec.podFailurePolicy.rules: [{action: Ignore, onPodConditions: [" + strings.Repeat("{type: A},", 20) +
				"]}]",
			"spec.podFailurePolicy.rules: [{action: Ignore, onPodConditions: [" + strings.Repeat("{type: A},", 21) +
				"]}]", "spec.podFailurePolicy.rules[0].onPodConditions: Too many: 21: must have at most 20 items"},
		{"at most 255 exit codes", "spec.podFailurePolicy.rules[0].onExitCodes.values: [1]",
			"spec.podFailurePolicy.rules[0].onExitCodes.values: [" + strings.Repeat("1,", 256) + "]",
			"spec.podFailurePolicy.rules[0].onExitCodes.values: Too many: 256: " +
				"must...ePolicy.rules[0].onExitCodes.values[255]: Duplicate value: 1"},
		{"name of an init container",
			"spec.template.spec.initContainers: [{name: d, image: i}]; " +
				"spec.podFailurePolicy.rules[0].onExitCodes.containerName: d",
			"spec.podFailurePolicy.rules[0].onExitCodes.containerName: d",
			`spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: "d": must be one ` +
				"of the container or initContainer names in the pod template"},
	})
}

func TestSuccessPolicy(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		"spec.completionMode: Indexed; spec.completions: 5; spec.successPolicy.rules: [{succeededCount: 2}]")
	k.Create(kindtest.Rules{
		{"indexed job", `spec.successPolicy.rules: [{succeededIndexes: "0,2-4"}]`, "spec.completionMode: NonIndexed",
			"spec.successPolicy: Invalid value: " +
				`{"Rules":[{"SucceededIndexes":null,"SucceededCount":2}]}: requires indexed completion mode`},
		{"rules", "spec.successPolicy.rules[1]: {succeededCount: 1}", "spec.successPolicy.rules: []",
			"spec.successPolicy.rules: Required value: at least one rules must be specified when the " +
				"successPolicy is specified"},
		{"empty rule", "spec.successPolicy.rules: [{succeededCount: 0}]", "spec.successPolicy.rules: [{}]",
			"spec.successPolicy.rules[0]: Required value: at least one of succeededCount or " +
				"succeededIndexes must be specified"},
		{"negative count", "spec.successPolicy.rules[0].succeededCount: 5",
			"spec.successPolicy.rules[0].succeededCount: -1",
			"spec.successPolicy.rules[0].succeededCount: Invalid value: -1: must be greater than or equal to 0"},
		{"more than all", "spec.successPolicy.rules[0].succeededCount: 5",
			"spec.successPolicy.rules[0].succeededCount: 6",
			"spec.successPolicy.rules[0].succeededCount: Invalid value: 6: must be less than or equal to " +
				"5 (the number of specified completions)"},
		{"more than the indexes", `spec.successPolicy.rules: [{succeededCount: 3, succeededIndexes: "1-3"}]`,
			`spec.successPolicy.rules: [{succeededCount: 4, succeededIndexes: "1-3"}]`,
			"spec.successPolicy.rules[0].succeededCount: Invalid value: 4: must be less than or equal to " +
				"3 (the number of indexes in the specified succeededIndexes field)"},
		{"order of indexes", `spec.successPolicy.rules: [{succeededIndexes: "1,3"}]`,
			`spec.successPolicy.rules: [{succeededIndexes: "3,1"}]`,
			`spec.successPolicy.rules[0].succeededIndexes: Invalid value: "3,1": error parsing ` +
				"succeededIndexes: non-increasing order, previous: 3, current: 1"},
		{"order of an interval", `spec.successPolicy.rules: [{succeededIndexes: "1-3"}]`,
			`spec.successPolicy.rules: [{succeededIndexes: "3-1"}]`,
			`spec.successPolicy.rules[0].succeededIndexes: Invalid value: "3-1": error parsing ` +
				"succeededIndexes: non-increasing order, previous: 3, current: 1"},
		{"interval of three", `spec.successPolicy.rules: [{succeededIndexes: "1-2,4"}]`,
			`spec.successPolicy.rules: [{succeededIndexes: "1-2-4"}]`,
			`spec.successPolicy.rules[0].succeededIndexes: Invalid value: "1-2-4": error parsing ` +
				`succeededIndexes: the fragment "1-2-4" violates the requirement that an index interval can ` +
				"have at most two parts separated by '-'"},
		{"large index", `spec.successPolicy.rules: [{succeededIndexes: "4"}]`,
			`spec.successPolicy.rules: [{succeededIndexes: "5"}]`,
			`spec.successPolicy.rules[0].succeededIndexes: Invalid value: "5": error parsing ` +
				`succeededIndexes: too large index: "5"`},
		{"no index", `spec.successPolicy.rules: [{succeededIndexes: ""}]`,
			`spec.successPolicy.rules: [{succeededIndexes: "a"}]`,
			`spec.successPolicy.rules[0].succeededIndexes: Invalid value: "a": error parsing ` +
				`succeededIndexes: cannot convert string to integer for index: "a"`},
		{"end of an interval", `spec.successPolicy.rules: [{succeededIndexes: "0-4"}]`,
			`spec.successPolicy.rules: [{succeededIndexes: "0-b"}]`,
			`spec.successPolicy.rules[0].succeededIndexes: Invalid value: "0-b": error parsing ` +
				`succeededIndexes: cannot convert string to integer for index: "b"`},
		{"at most 20 rules", "spec.successPolicy.rules: [" + strings.Repeat("{succeededCount: 1},", 20) + "]",
			"spec.successPolicy.rules: [" + strings.Repeat("{succeededCount: 1},", 21) + "]",
			"spec.successPolicy.rules: Too many: 21: must have at most 20 items"},
		{"length of the indexes", `spec.completions: 100000; spec.successPolicy.rules: [{succeededIndexes: "99999"}]`,
			`spec.completions: 100000; spec.successPolicy.rules: [{succeededIndexes: "` + strings.Repeat("0", 65536) +
				`1"}]`, "spec.successPolicy.rules[0].succeededIndexes: Too long: may not be more than 65536 bytes"},
		{"indexes that touch", `spec.successPolicy.rules: [{succeededIndexes: "0-1,2-3"}]`,
			`spec.successPolicy.rules: [{succeededIndexes: "0-2,2-3"}]`,
			`spec.successPolicy.rules[0].succeededIndexes: Invalid value: "0-2,2-3": error parsing ` +
				"succeededIndexes: non-increasing order, previous: 2, current: 2"},
		{"count without indexes", `spec.successPolicy.rules: [{succeededIndexes: "", succeededCount: 0}]`,
			`spec.successPolicy.rules: [{succeededIndexes: "", succeededCount: 1}]`,
			"spec.successPolicy.rules[0].succeededCount: Invalid value: 1: must be less than or equal to " +
				"0 (the number of indexes in the specified succeededIndexes field)"},
	})
}

// TestJobScheduling checks the rules of spec.scheduling that no marker states.
func TestJobScheduling(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job, "GenericWorkload", "WorkloadWithJob").With(
		"spec.parallelism: 3; spec.scheduling.schedulingPolicy: {gang: {minCount: 3}}")
	k.Create(kindtest.Rules{
		{"gang of more pods than run", "spec.scheduling.schedulingPolicy.gang.minCount: 2",
			"spec.scheduling.schedulingPolicy.gang.minCount: 4",
			"spec.scheduling.schedulingPolicy.gang.minCount: Invalid value: 4: must not be greater than " +
				"parallelism (3)"},
		{"gang of a job without parallelism",
			"spec.parallelism: null; spec.scheduling.schedulingPolicy.gang.minCount: 1",
			"spec.parallelism: null; spec.scheduling.schedulingPolicy.gang.minCount: 2",
			"spec.scheduling.schedulingPolicy.gang.minCount: Invalid value: 2: must not be greater than " +
				"parallelism (1)"},
		{"gang of no pods", "spec.scheduling.schedulingPolicy.gang.minCount: 1",
			"spec.scheduling.schedulingPolicy.gang.minCount: 0",
			"spec.scheduling.schedulingPolicy.gang.minCount: Invalid value: 0: must be greater than or equal to 1"},
		{"disruption of all pods of a gang only", "spec.scheduling.disruptionMode: {all: {}}",
			"spec.scheduling: {disruptionMode: {all: {}}}",
			"spec.scheduling.disruptionMode: Invalid value: \"\": the disruptionMode `all` is not " +
				"supported with the Basic scheduling policy"},
		{"disruption of all pods with the basic policy", "spec.scheduling: {schedulingPolicy: {basic: {}}}",
			"spec.scheduling: {schedulingPolicy: {basic: {}}, disruptionMode: {all: {}}}",
			"spec.scheduling.disruptionMode: Invalid value: \"\": the disruptionMode `all` is not " +
				"supported with the Basic scheduling policy"},
		{"one policy", "spec.scheduling.schedulingPolicy: {basic: {}}",
			"spec.scheduling.schedulingPolicy: {basic: {}, gang: {minCount: 1}}",
			`spec.scheduling.schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one ` +
				"of: `basic`, `gang`"},
		{"some policy", "spec.scheduling.schedulingPolicy: {basic: {}}", "spec.scheduling.schedulingPolicy: {}",
			"spec.scheduling.schedulingPolicy: Invalid value: \"\": must specify one of: `basic`, `gang`"},
	})
}

// TestJobOfSuccessPolicy checks that a job with a success policy is complete only after its criteria are met.
func TestJobOfSuccessPolicy(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		"spec.completions: 5; spec.completionMode: Indexed; spec.successPolicy.rules: [{succeededCount: " +
			`2}]; status: {startTime: "2026-05-04T11:00:00Z"}`)
	k.UpdateStatus(kindtest.Rules{
		{"complete",
			`status.conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: ` +
				`"True"}]; status.completionTime: "2026-05-04T12:00:00Z"`,
			`status.conditions: [{type: Complete, status: "True"}]; status.completionTime: "2026-05-04T12:00:00Z"`,
			"status.conditions: Invalid value: cannot set Complete=True condition without the " +
				"SuccessCriteriaMet=true condition; status.conditions: Invalid value: cannot set " +
				"Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"},
		{"criteria and failure",
			`status.conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]`,
			`status.conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: FailureTarget, ` +
				`status: "True"}, {type: Failed, status: "True"}]`,
			"status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and Failed=true " +
				"conditions; status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and " +
				"FailureTarget=true conditions"},
	})
}
