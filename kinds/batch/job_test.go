package batch_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const job = `spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: 'i:1'}]`

func TestJobRules(t *testing.T) {
	kindtest.New(t, "jobs.v1.batch", job).Create(kindtest.Rules{
		{"parallelism", "spec.parallelism: 0", "spec.parallelism: -1",
			"spec.parallelism: Invalid value: -1: must be greater than or equal to 0"},
		{"completions", "spec.completions: 0", "spec.completions: -1",
			"spec.completions: Invalid value: -1: must be greater than or equal to 0"},
		{"activeDeadlineSeconds", "spec.activeDeadlineSeconds: 0", "spec.activeDeadlineSeconds: -1",
			"spec.activeDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0"},
		{"backoffLimit", "spec.backoffLimit: 0", "spec.backoffLimit: -1",
			"spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0"},
		{"ttlSecondsAfterFinished", "spec.ttlSecondsAfterFinished: 0", "spec.ttlSecondsAfterFinished: -1",
			"spec.ttlSecondsAfterFinished: Invalid value: -1: must be greater than or equal to 0"},
		{"restartPolicy", "spec.template.spec.restartPolicy: OnFailure", "spec.template.spec.restartPolicy: Always",
			`spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`},
		{"no restartPolicy", "spec.template.spec.restartPolicy: OnFailure", "spec.template.spec.restartPolicy: null",
			`spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`},
		{"unknown restartPolicy", "spec.template.spec.restartPolicy: Never",
			"spec.template.spec.restartPolicy: Sometimes",
			`spec.template.spec.restartPolicy: Unsupported value: "Sometimes": supported values: ` +
				`"Always", "OnFailure", "Never"; spec.template.spec.restartPolicy: Unsupported value: ` +
				`"Sometimes": supported values: "OnFailure", "Never"`},
		{"managedBy", "spec.managedBy: example.com/a", "spec.managedBy: a",
			`spec.managedBy: Invalid value: "a": must be a domain-prefixed path (such as "acme.io/foo")`},
		{"long managedBy", "spec.managedBy: example.com/aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeef",
			"spec.managedBy: example.com/aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeff",
			"spec.managedBy: Too long: may not be more than 63 bytes"},
		{"completionMode", "spec.completionMode: NonIndexed", "spec.completionMode: Other",
			`spec.completionMode: Unsupported value: "Other": supported values: "NonIndexed", "Indexed"`},
		{"completions of indexed jobs",
			"spec: {completionMode: Indexed, completions: 2, template: {spec: {restartPolicy: Never, " +
				"containers: [{name: c, image: i}]}}}", "spec.parallelism: 2; spec.completionMode: Indexed",
			"spec.completions: Required value: when completion mode is Indexed"},
		{"backoffLimitPerIndex without index",
			"spec.completionMode: Indexed; spec.completions: 2; spec.backoffLimitPerIndex: 1",
			"spec.backoffLimitPerIndex: 1",
			"spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"},
		{"maxFailedIndexes without backoff",
			"spec.completionMode: Indexed; spec.completions: 2; spec.backoffLimitPerIndex: 1; " +
				"spec.maxFailedIndexes: 1",
			"spec.completionMode: Indexed; spec.completions: 2; spec.maxFailedIndexes: 1",
			"spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified"},
		{"podReplacementPolicy", "spec.podReplacementPolicy: Failed", "spec.podReplacementPolicy: Terminating",
			`spec.podReplacementPolicy: Unsupported value: "Terminating": supported values: "Failed", ` +
				`"TerminatingOrFailed"`},
		{"replacement with a failure policy",
			"spec.podFailurePolicy.rules: [{action: Ignore, onPodConditions: [{type: A}]}]; " +
				"spec.podReplacementPolicy: Failed",
			"spec.podFailurePolicy.rules: [{action: Ignore, onPodConditions: [{type: A}]}]; " +
				"spec.podReplacementPolicy: TerminatingOrFailed",
			`spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"`},
		{"failure policy and restarts", "spec.podFailurePolicy: {rules: []}",
			"spec.podFailurePolicy: {rules: []}; spec.template.spec.restartPolicy: OnFailure",
			`spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported ` +
				"when podFailurePolicy is specified"},
		{"own selector",
			"spec.manualSelector: true; spec.selector.matchLabels: {a: b}; spec.template.metadata.labels: {a: b}",
			"spec.selector.matchLabels: {a: b}",
			"spec.selector: Invalid value: " +
				"{\"matchLabels\":{\"a\":\"b\",\"batch.kubernetes.io/controller-uid\":\"u\"}}: `selector` not " +
				"auto-generated; spec.template.metadata.labels: Invalid value: " +
				`{"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"x","controller-uid` +
				"\":\"u\",\"job-name\":\"x\"}: `selector` does not match template `labels`"},
		{"no manual selector",
			"spec.manualSelector: true; spec.selector.matchLabels: {a: b}; spec.template.metadata.labels: {a: b}",
			"spec.manualSelector: true",
			"spec.selector: Required value; spec.template.metadata.labels: Invalid value: null: " +
				"`selector` does not match template `labels`"},
		{"manual selector of the pods",
			"spec.manualSelector: true; spec.selector.matchLabels: {a: b}; spec.template.metadata.labels: {a: b}",
			"spec.manualSelector: true; spec.selector.matchLabels: {a: b}; spec.template.metadata.labels: {a: c}",
			"spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match template " +
				"`labels`"},
		{"label of the controller", "spec.template.metadata.labels: {job-name: x}",
			"spec.template.metadata.labels: {job-name: other}",
			"spec.template.metadata.labels[job-name]: Invalid value: " +
				`{"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"x","controller-uid` +
				`":"u","job-name":"other"}: must be 'x'`},
		{"name of the last pod", "metadata.name: a.b",
			"metadata.name: a.b; spec.completionMode: Indexed; spec.completions: 1",
			`metadata.name: Invalid value: "a.b": will not able to create pod with invalid DNS label: a.b-0`},
	})
}

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
	})
}

func TestJobUpdateRules(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		"spec.backoffLimitPerIndex: 1; spec.completionMode: Indexed; spec.completions: 3; spec.parallelism: 3")
	k.Update(kindtest.Rules{
		{"completions", "spec.completions: 2; spec.parallelism: 2", "spec.completions: 2",
			"spec.completions: Invalid value: 2: can only be modified in tandem with spec.parallelism"},
		{"selector", "spec.suspend: true", "spec.selector.matchLabels.a: b",
			"spec.template.metadata.labels: Invalid value: " +
				`{"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"x","controller-uid` +
				"\":\"u\",\"job-name\":\"x\"}: `selector` does not match template `labels`; spec.selector: Invalid " +
				`value: {"matchLabels":{"a":"b","batch.kubernetes.io/controller-uid":"u"}}: field is immutable`},
		{"template", "spec.parallelism: 1", "spec.template.spec.containers[0].image: j",
			"spec.template: Invalid value: " +
				`{"labels":{"batch.kubernetes.io/controll...gGroup":null,"EvictionResponders":null}}: field ` +
				"is immutable"},
		{"completionMode", "spec.backoffLimit: 1", "spec.completionMode: NonIndexed; spec.backoffLimitPerIndex: null",
			`spec.completionMode: Invalid value: "NonIndexed": field is immutable; ` +
				"spec.backoffLimitPerIndex: Invalid value: null: field is immutable"},
		{"backoffLimitPerIndex", "spec.ttlSecondsAfterFinished: 1", "spec.backoffLimitPerIndex: 2",
			"spec.backoffLimitPerIndex: Invalid value: 2: field is immutable"},
		{"podFailurePolicy", "spec.activeDeadlineSeconds: 1",
			"spec.podFailurePolicy: {rules: []}; spec.podReplacementPolicy: Failed",
			`spec.podFailurePolicy: Invalid value: {"Rules":[]}: field is immutable`},
		{"managedBy", "spec.podReplacementPolicy: Failed", "spec.managedBy: example.com/a",
			`spec.managedBy: Invalid value: "example.com/a": field is immutable`},
		{"successPolicy", "spec.maxFailedIndexes: 1", "spec.successPolicy.rules: [{succeededCount: 1}]",
			"spec.successPolicy: Invalid value: " +
				`{"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: field is immutable`},
	})
}

func TestNonIndexedJobUpdateRules(t *testing.T) {
	kindtest.New(t, "jobs.v1.batch", job).Update(kindtest.Rules{
		{"completions", "spec.parallelism: 2", "spec.completions: 2",
			"spec.completions: Invalid value: 2: field is immutable"},
	})
}

func TestSuspendedJob(t *testing.T) {
	kindtest.New(t, "jobs.v1.batch", job).With("spec.suspend: true").Update(kindtest.Rules{
		{"node selector", "spec.template.spec.nodeSelector: {a: b}", "spec.template.spec.nodeName: node",
			"spec.template.spec: Invalid value: " +
				`{"Volumes":null,"InitContainers":nu...ngGroup":null,"EvictionResponders":null}: field is immutable`},
		{"tolerations", "spec.template.spec.tolerations: [{operator: Exists}]",
			"spec.template.spec.schedulerName: other",
			"spec.template.spec: Invalid value: " +
				`{"Volumes":null,"InitContainers":nu...ngGroup":null,"EvictionResponders":null}: field is immutable`},
		{"affinity",
			"spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.node" +
				"SelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]",
			"spec.template.spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: " +
				"[{topologyKey: a, labelSelector: {matchLabels: {a: b}}}]",
			"spec.template.spec: Invalid value: " +
				`{"Volumes":null,"InitContainers":nu...ngGroup":null,"EvictionResponders":null}: field is immutable`},
		{"resources", "spec.template.spec.containers[0].resources.requests: {cpu: 1}",
			"spec.template.spec.containers[0].image: j",
			"spec.template.spec: Invalid value: " +
				`{"Volumes":null,"InitContainers":nu...ngGroup":null,"EvictionResponders":null}: field is immutable`},
	})
}

func TestJobStatusRules(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		"spec.completions: 5; spec.parallelism: 2; spec.completionMode: Indexed; " +
			`spec.backoffLimitPerIndex: 1; status: {startTime: "2026-05-04T11:00:00Z", active: 1, failed: 2, ` +
			`succeeded: 2, ready: 1, completedIndexes: "0,1"}`)
	k.UpdateStatus(kindtest.Rules{
		{"active", "status.active: 2", "status.active: -1; status.ready: null",
			"status.active: Invalid value: -1: must be greater than or equal to 0"},
		{"succeeded", "status.succeeded: 3", "status.succeeded: -1",
			"status.succeeded: Invalid value: -1: must be greater than or equal to 0; status.succeeded: " +
				"Invalid value: -1: cannot decrease the succeeded counter"},
		{"failed", "status.failed: 3", "status.failed: -1",
			"status.failed: Invalid value: -1: must be greater than or equal to 0; status.failed: " +
				"Invalid value: -1: cannot decrease the failed counter"},
		{"ready", "status.ready: 0", "status.ready: -1",
			"status.ready: Invalid value: -1: must be greater than or equal to 0"},
		{"terminating", "status.terminating: 0", "status.terminating: -1",
			"status.terminating: Invalid value: -1: must be greater than or equal to 0"},
		{"fewer succeeded", "status.succeeded: 3", "status.succeeded: 1",
			"status.succeeded: Invalid value: 1: cannot decrease the succeeded counter"},
		{"fewer failed", "status.failed: 2", "status.failed: 1",
			"status.failed: Invalid value: 1: cannot decrease the failed counter"},
		{"more ready than active", "status.active: 2; status.ready: 2", "status.ready: 2",
			"status.ready: Invalid value: 2: cannot set more ready pods than active"},
		{"uncounted pods", "status.uncountedTerminatedPods: {succeeded: [a], failed: [b]}",
			"status.uncountedTerminatedPods: {succeeded: [a], failed: [a]}",
			`status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"`},
		{"empty uid", "status.uncountedTerminatedPods: {succeeded: [a]}",
			`status.uncountedTerminatedPods: {succeeded: [""]}`,
			`status.uncountedTerminatedPods.succeeded[0]: Invalid value: "": must not be empty`},
		{"completedIndexes", `status.completedIndexes: "0-2"`, `status.completedIndexes: "0-5"`,
			`status.completedIndexes: Invalid value: "0-5": error parsing completedIndexes: too large index: "5"`},
		{"failedIndexes", `status.failedIndexes: "2,3"`, `status.failedIndexes: "3,2"`,
			`status.failedIndexes: Invalid value: "3,2": error parsing failedIndexes: non-increasing ` +
				"order, previous: 3, current: 2"},
		{"overlapping indexes", `status.failedIndexes: "2"`, `status.failedIndexes: "1-2"`,
			`status.failedIndexes: Invalid value: "1-2": failedIndexes and completedIndexes overlap at index: 1`},
		{"startTime", "status.failed: 2", `status.startTime: "2026-05-04T11:00:01Z"`,
			`status.startTime: Invalid value: "2026-05-04T11:00:01Z": field is immutable for unsuspended ` +
				"job once set"},
		{"completionTime without condition", `status.conditions: [{type: SuccessCriteriaMet, status: "True"}]`,
			`status.completionTime: "2026-05-04T12:00:00Z"`,
			`status.completionTime: Invalid value: "2026-05-04T12:00:00Z": cannot set completionTime ` +
				"when there is no Complete=True condition"},
		{"complete without completionTime",
			`status.conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: ` +
				`"True"}]; status.completionTime: "2026-05-04T12:00:00Z"; status.active: 0; status.ready: 0`,
			`status.conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: ` +
				`"True"}]; status.active: 0; status.ready: 0`,
			"status.completionTime: Required value: completionTime is required for Complete jobs"},
		{"completion before start",
			`status.conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: ` +
				`"True"}]; status.completionTime: "2026-05-04T11:00:00Z"; status.active: 0; status.ready: 0`,
			`status.conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: ` +
				`"True"}]; status.completionTime: "2026-05-04T10:00:00Z"; status.active: 0; status.ready: 0`,
			"status.completionTime: Invalid value: \"2026-05-04T10:00:00Z\": must be equal to or after `startTime`"},
		{"complete without criteria", `status.conditions: [{type: SuccessCriteriaMet, status: "True"}]`,
			`status.conditions: [{type: Complete, status: "True"}]; status.completionTime: ` +
				`"2026-05-04T12:00:00Z"; status.active: 0; status.ready: 0`,
			"status.conditions: Invalid value: cannot set Complete=True condition without the " +
				"SuccessCriteriaMet=true condition"},
		{"failed without target",
			`status.conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]; ` +
				"status.active: 0; status.ready: 0",
			`status.conditions: [{type: Failed, status: "True"}]; status.active: 0; status.ready: 0`,
			"status.conditions: Invalid value: cannot set Failed=True condition without the " +
				"FailureTarget=true condition"},
		{"complete and failed", `status.conditions: [{type: FailureTarget, status: "True"}]`,
			`status.conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: ` +
				`"True"}, {type: Failed, status: "True"}, {type: FailureTarget, status: "True"}]; ` +
				`status.completionTime: "2026-05-04T12:00:00Z"; status.active: 0; status.ready: 0`,
			"status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions; " +
				"status.conditions: Invalid value: cannot set Complete=True and FailureTarget=true " +
				"conditions; status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and " +
				"Failed=true conditions; status.conditions: Invalid value: cannot set " +
				"SuccessCriteriaMet=True and FailureTarget=true conditions"},
		{"criteria and failure", `status.conditions: [{type: SuccessCriteriaMet, status: "True"}]`,
			`status.conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: FailureTarget, status: "True"}]`,
			"status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"},
		{"active at the end",
			`status.conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]; ` +
				"status.active: 0; status.ready: 0",
			`status.conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]`,
			"status.active: Invalid value: 1: active>0 is invalid for finished job"},
		{"terminating at the end",
			`status.conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]; ` +
				"status.active: 0; status.ready: 0; status.terminating: 0",
			`status.conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]; ` +
				"status.active: 0; status.ready: 0; status.terminating: 1",
			"status.terminating: Invalid value: 1: terminating>0 is invalid for finished job"},
		{"uncounted at the end",
			`status.conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]; ` +
				"status.active: 0; status.ready: 0; status.uncountedTerminatedPods: {}",
			`status.conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]; ` +
				"status.active: 0; status.ready: 0; status.uncountedTerminatedPods: {failed: [a]}",
			`status.uncountedTerminatedPods: Invalid value: {"Succeeded":null,"Failed":["a"]}: must be ` +
				"empty for finished job"},
	})
}

func TestNonIndexedJobStatus(t *testing.T) {
	kindtest.New(t, "jobs.v1.batch", job).UpdateStatus(kindtest.Rules{
		{"completedIndexes", "status.succeeded: 1", `status.completedIndexes: "0"`,
			`status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when ` +
				"non-indexed completion mode"},
		{"failedIndexes", "status.failed: 1", `status.failedIndexes: "0"`,
			`status.failedIndexes: Invalid value: "0": cannot set non-null failedIndexes when ` +
				"backoffLimitPerIndex is null"},
		{"start of a finished job",
			`status: {startTime: "2026-05-04T11:00:00Z", conditions: [{type: FailureTarget, status: ` +
				`"True"}, {type: Failed, status: "True"}]}`,
			`status.conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]`,
			"status.startTime: Required value: startTime is required for finished job"},
	})
}

func TestFinishedJobStatus(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		`status: {startTime: "2026-05-04T11:00:00Z", completionTime: "2026-05-04T11:30:00Z", succeeded: ` +
			`1, conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True"}]}`)
	k.UpdateStatus(kindtest.Rules{
		{"complete", "status.succeeded: 2",
			`status.conditions: [{type: SuccessCriteriaMet, status: "True"}]; status.completionTime: null`,
			"status.conditions: Invalid value: cannot disable the terminal Complete=True condition"},
		{"criteria", "status.succeeded: 2", `status.conditions: [{type: Complete, status: "True"}]`,
			"status.conditions: Invalid value: cannot set Complete=True condition without the " +
				"SuccessCriteriaMet=true condition; status.conditions: Invalid value: cannot disable the " +
				"SuccessCriteriaMet=True condition"},
		{"completionTime", "status.failed: 1", `status.completionTime: "2026-05-04T11:40:00Z"`,
			`status.completionTime: Invalid value: "2026-05-04T11:40:00Z": field is immutable`},
	})
}

func TestJobCreated(t *testing.T) {
	kindtest.New(t, "jobs.v1.batch", job).Created(kindtest.Cases{
		{"defaults", "",
			"spec.parallelism: 1; spec.completions: 1; spec.completionMode: NonIndexed; spec.suspend: " +
				"false; spec.manualSelector: false; spec.backoffLimit: 6; spec.podReplacementPolicy: " +
				"TerminatingOrFailed"},
		{"no completions", "spec.parallelism: 3", "spec.completions: null; spec.parallelism: 3"},
		{"limit per index", "spec.completionMode: Indexed; spec.completions: 2; spec.backoffLimitPerIndex: 1",
			"spec.backoffLimit: 2147483647"},
		{"failure policy", "spec.podFailurePolicy.rules: [{action: Ignore, onPodConditions: [{type: A}]}]",
			`spec.podReplacementPolicy: Failed; spec.podFailurePolicy.rules[0].onPodConditions[0].status: "True"`},
		{"job labels", "",
			"metadata.labels.job-name: x; spec.template.metadata.labels[batch.kubernetes.io/job-name]: x"},
		{"own labels", "metadata.labels: {a: b}",
			"metadata.labels.a: b; metadata.labels.job-name: null; spec.template.metadata.labels.job-name: x"},
		{"status", "status.active: 3", "status.active: null; metadata.generation: 1"},
	})
}

func TestJobUpdated(t *testing.T) {
	kindtest.New(t, "jobs.v1.batch", job).Updated(kindtest.Cases{
		{"missing parallelism", "spec.parallelism: null; spec.backoffLimit: null",
			"spec.parallelism: 1; spec.backoffLimit: 6"},
	})
}

func TestJobStatusUpdated(t *testing.T) {
	kindtest.New(t, "jobs.v1.batch", job).StatusUpdated(kindtest.Cases{
		{"spec", "spec.parallelism: 5; status.active: 4", "spec.parallelism: 1; status.active: 4"},
	})
}

func TestJobGenerations(t *testing.T) {
	kindtest.New(t, "jobs.v1.batch", job).Generations(kindtest.Cases{
		{"nothing", "", "1"},
		{"spec", "spec.parallelism: 2", "2"},
		{"labels", "metadata.labels: {c: d}", "1"},
	})
}

func TestJobWarnings(t *testing.T) {
	kindtest.New(t, "jobs.v1.batch", job).Warnings(kindtest.Cases{
		{"none", "", ""},
		{"name", "metadata.name: a.b",
			"metadata.name: this is used in Pod names and hostnames, which can result in surprising " +
				"behavior; a DNS label is recommended: [must not contain dots]"},
		{"many indexes", "spec.completionMode: Indexed; spec.completions: 100001; spec.parallelism: 10001",
			"spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism " +
				"higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number " +
				"of indexes fail"},
		{"variable twice", "spec.template.spec.containers[0].env: [{name: A, value: '1'}, {name: A, value: '2'}]",
			`spec.template.spec.containers[0].env[1]: hides previous definition of "A", which may be ` +
				"dropped when using apply"},
	})
}

func TestJobUpdateWarnings(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		"spec.template.spec.containers[0].env: [{name: A, value: '1'}, {name: A, value: '2'}]")
	k.UpdateWarnings(kindtest.Cases{
		{"labels", "metadata.labels: {c: d}", ""},
		{"spec", "spec.parallelism: 2",
			`spec.template.spec.containers[0].env[1]: hides previous definition of "A", which may be ` +
				"dropped when using apply"},
	})
}

func TestJobColumns(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		"spec.manualSelector: true; spec.selector.matchLabels: {a: b}; spec.template.metadata.labels: {a: b}")
	k.Columns("Name|Status|Completions|Duration|Age|(Containers)|(Images)|(Selector)", kindtest.Cases{
		{"new", "", "x|Running|0/1||60m|c|i:1|a=b"},
		{"one of many", "spec.parallelism: 3", "x|Running|0/1 of 3||60m|c|i:1|a=b"},
		{"running", `status: {startTime: "2026-05-04T11:58:00Z", active: 1}`, "x|Running|0/1|2m|60m|c|i:1|a=b"},
		{"complete",
			`status: {startTime: "2026-05-04T11:00:00Z", completionTime: "2026-05-04T11:30:00Z", ` +
				`succeeded: 1, conditions: [{type: Complete, status: "True"}]}`, "x|Complete|1/1|30m|60m|c|i:1|a=b"},
		{"failed", `status.conditions: [{type: Failed, status: "True"}]`, "x|Failed|0/1||60m|c|i:1|a=b"},
		{"failing", `status.conditions: [{type: FailureTarget, status: "True"}]`,
			"x|FailureTarget|0/1||60m|c|i:1|a=b"},
		{"suspended", `status.conditions: [{type: Suspended, status: "True"}]`, "x|Suspended|0/1||60m|c|i:1|a=b"},
		{"resumed", `status.conditions: [{type: Suspended, status: "False"}]`, "x|Running|0/1||60m|c|i:1|a=b"},
	})
}

func TestJobSelectableFields(t *testing.T) {
	kindtest.New(t, "jobs.v1.batch", job).Selectable(kindtest.Cases{
		{"none", "", "status.successful=0"},
		{"succeeded", "status.succeeded: 3", "status.successful=3"},
	})
}
