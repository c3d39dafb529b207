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
		{"job of a gang", "spec.parallelism: 3; spec.scheduling.schedulingPolicy: {gang: {minCount: 3}}",
			"spec.scheduling: null"},
		{"manual selector",
			"spec.manualSelector: true; spec.selector.matchLabels: {a: b}; spec.template.metadata.labels: {a: b}",
			`spec.selector: {"matchLabels":{"a":"b"}}; spec.template.metadata.labels: {"a":"b"}; ` +
				`metadata.labels: {"a":"b"}`},
		{"generated selector", "",
			`spec.selector: {"matchLabels":{"batch.kubernetes.io/controller-uid":"u"}}; ` +
				"spec.template.metadata.labels: " +
				`{"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"x","controller-uid` +
				`":"u","job-name":"x"}`},
		{"selector with a label of the user", "spec.template.metadata.labels: {a: b}",
			`spec.selector: {"matchLabels":{"batch.kubernetes.io/controller-uid":"u"}}; ` +
				"spec.template.metadata.labels: " +
				`{"a":"b","batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"x","contro` +
				`ller-uid":"u","job-name":"x"}; metadata.labels.a: b`},
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
		{"name with an underscore is no host name", "metadata.name: a.b.c",
			"metadata.name: this is used in Pod names and hostnames, which can result in surprising " +
				"behavior; a DNS label is recommended: [must not contain dots]"},
		{"node label", "spec.template.spec.nodeSelector: {beta.kubernetes.io/os: linux}",
			"spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use " +
				`"kubernetes.io/os" instead`},
		{"negative grace period", "spec.template.spec.terminationGracePeriodSeconds: -1",
			"spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid " +
				"and will be treated as 1"},
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
				`succeeded: 1, conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, ` +
				`status: "True"}]}`, "x|Complete|1/1|30m|60m|c|i:1|a=b"},
		{"failed",
			`status: {startTime: "2026-05-04T11:00:00Z", completionTime: null, conditions: [{type: ` +
				`FailureTarget, status: "True"}, {type: Failed, status: "True"}]}`, "x|Failed|0/1|60m|60m|c|i:1|a=b"},
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

// TestJobCells checks what tables show of jobs.
func TestJobCells(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		"spec.manualSelector: true; spec.selector.matchLabels: {a: b}; spec.template.metadata.labels: {a: b}")
	k.Columns("Name|Status|Completions|Duration|Age|(Containers)|(Images)|(Selector)", kindtest.Cases{
		{"work queue", "spec.parallelism: 4", "x|Running|0/1 of 4||60m|c|i:1|a=b"},
		{"one pod", "spec.parallelism: 1", "x|Running|0/1||60m|c|i:1|a=b"},
		{"terminating",
			`metadata.deletionTimestamp: "2026-05-04T11:00:00Z"; status.conditions: [{type: Suspended, ` +
				`status: "True"}]`, "x|Terminating|0/1||60m|c|i:1|a=b"},
		{"seconds",
			`status: {startTime: "2026-05-04T11:01:00Z", completionTime: "2026-05-04T11:01:42Z", ` +
				`succeeded: 1, conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, ` +
				`status: "True"}]}`, "x|Complete|1/1|42s|60m|c|i:1|a=b"},
	})
}
