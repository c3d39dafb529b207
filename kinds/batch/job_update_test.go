package batch_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

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
		{"node selector of a job that runs", "spec.template.spec.nodeSelector: {a: b}; spec.suspend: false",
			"spec.template.spec.nodeSelector: {a: b}; spec.template.spec.hostNetwork: true",
			"spec.template.spec: Invalid value: " +
				`{"Volumes":null,"InitContainers":nu...ngGroup":null,"EvictionResponders":null}: field is immutable`},
		{"labels", "spec.template.metadata.labels.a: b",
			"spec.template.metadata.labels.a: b; spec.template.spec.dnsPolicy: Default",
			"spec.template.spec: Invalid value: " +
				`{"Volumes":null,"InitContainers":nu...ngGroup":null,"EvictionResponders":null}: field is immutable`},
		{"scheduling gates", "spec.template.spec.schedulingGates: [{name: a.b/c}]",
			"spec.template.spec.serviceAccountName: a",
			"spec.template.spec: Invalid value: " +
				`{"Volumes":null,"InitContainers":nu...ngGroup":null,"EvictionResponders":null}: field is immutable`},
		{"resources of another container", "spec.template.spec.containers[0].resources.limits: {memory: 1Gi}",
			"spec.template.spec.containers[1]: {name: d, image: i}",
			"spec.template.spec: Invalid value: " +
				`{"Volumes":null,"InitContainers":nu...ngGroup":null,"EvictionResponders":null}: field is immutable`},
		{"renamed container", "spec.template.spec.containers[0].resources.requests: {cpu: 1}",
			"spec.template.spec.containers[0].name: d",
			"spec.template.spec: Invalid value: " +
				`{"Volumes":null,"InitContainers":nu...ngGroup":null,"EvictionResponders":null}: field is immutable`},
	})
}

func TestJobUpdated(t *testing.T) {
	kindtest.New(t, "jobs.v1.batch", job).Updated(kindtest.Cases{
		{"missing parallelism", "spec.parallelism: null; spec.backoffLimit: null",
			"spec.parallelism: 1; spec.backoffLimit: 6"},
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
		{"name is not checked again", "spec.backoffLimit: 1",
			`spec.template.spec.containers[0].env[1]: hides previous definition of "A", which may be ` +
				"dropped when using apply"},
	})
}

// TestJobSchedulingUpdate checks that a policy is not replaced by one of another kind.
func TestJobSchedulingUpdate(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job, "GenericWorkload", "WorkloadWithJob").With(
		"spec.parallelism: 3; spec.scheduling.schedulingPolicy: {gang: {minCount: 3}}")
	k.Update(kindtest.Rules{
		{"another policy", "spec.scheduling.schedulingPolicy.gang.minCount: 2",
			"spec.scheduling.schedulingPolicy: {basic: {}}",
			"spec.scheduling.schedulingPolicy: Invalid value: null: the basic/gang policy variant is " +
				"immutable after creation; only schedulingPolicy.gang.minCount may be updated"},
	})
}

// TestSuspendedJobWithAffinity checks that the affinity to nodes of a suspended job may change, and that to pods
// may not.
func TestSuspendedJobWithAffinity(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		"spec.suspend: true; spec.template.spec.affinity: {nodeAffinity: " +
			"{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: " +
			"a, operator: Exists}]}]}}, podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: " +
			"[{topologyKey: a, labelSelector: {matchLabels: {a: b}}}]}}")
	k.Update(kindtest.Rules{
		{"other nodes",
			"spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.node" +
				"SelectorTerms[0].matchExpressions[0].key: b",
			"spec.template.spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].to" +
				"pologyKey: b",
			"spec.template.spec: Invalid value: " +
				`{"Volumes":null,"InitContainers":nu...ngGroup":null,"EvictionResponders":null}: field is immutable`},
		{"no nodes", "spec.template.spec.affinity.nodeAffinity: null", "spec.template.spec.affinity: null",
			"spec.template.spec: Invalid value: " +
				`{"Volumes":null,"InitContainers":nu...ngGroup":null,"EvictionResponders":null}: field is immutable`},
	})
}

// TestSuspendedJobWithNodeAffinity checks that an affinity that has nodes only may be removed.
func TestSuspendedJobWithNodeAffinity(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		"spec.suspend: true; spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuri" +
			"ngExecution.nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]")
	k.Update(kindtest.Rules{
		{"no affinity", "spec.template.spec.affinity: null",
			"spec.template.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution: " +
				"[{topologyKey: a, labelSelector: {matchLabels: {a: b}}}]",
			"spec.template.spec: Invalid value: " +
				`{"Volumes":null,"InitContainers":nu...ngGroup":null,"EvictionResponders":null}: field is immutable`},
	})
}

// TestStartedJob checks the template of a job that was suspended after its start.
func TestStartedJob(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		`spec.suspend: true; status: {startTime: "2026-05-04T11:00:00Z", conditions: [{type: Suspended, ` +
			`status: "True"}]}`)
	k.Update(kindtest.Rules{
		{"resources", "spec.template.spec.containers[0].resources.requests: {cpu: 1}",
			"spec.template.spec.containers[0].image: j",
			"spec.template.spec: Invalid value: " +
				`{"Volumes":null,"InitContainers":nu...ngGroup":null,"EvictionResponders":null}: field is immutable`},
		{"nodes", "spec.template.spec.nodeSelector: {a: b}", "spec.template.spec.nodeName: node",
			"spec.template.spec: Invalid value: " +
				`{"Volumes":null,"InitContainers":nu...ngGroup":null,"EvictionResponders":null}: field is immutable`},
	})
}

// TestRunningJob checks that the template of a running job is immutable.
func TestRunningJob(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		`status: {startTime: "2026-05-04T11:00:00Z", active: 1}`)
	k.Update(kindtest.Rules{
		{"resources", "spec.suspend: true",
			"spec.suspend: true; spec.template.spec.containers[0].resources.requests: {cpu: 1}",
			"spec.template: Invalid value: " +
				`{"labels":{"batch.kubernetes.io/controll...gGroup":null,"EvictionResponders":null}}: field ` +
				"is immutable"},
		{"nodes", "spec.suspend: true", "spec.suspend: true; spec.template.spec.nodeSelector: {a: b}",
			"spec.template: Invalid value: " +
				`{"labels":{"batch.kubernetes.io/controll...gGroup":null,"EvictionResponders":null}}: field ` +
				"is immutable"},
	})
}

// TestOwnSelector checks updates of a job with a selector of its own.
func TestOwnSelector(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		"spec.manualSelector: true; spec.selector.matchLabels: {a: b}; spec.template.metadata.labels: {a: b}")
	k.Update(kindtest.Rules{
		{"selector", "spec.parallelism: 2", "spec.selector.matchLabels: {c: d}",
			"spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template " +
				"`labels`; spec.selector: Invalid value: {\"matchLabels\":{\"c\":\"d\"}}: field is immutable"},
		{"parallelism", "spec.parallelism: 0", "spec.parallelism: -1",
			"spec.parallelism: Invalid value: -1: must be greater than or equal to 0"},
	})
}
