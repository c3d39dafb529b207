package scheduling_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const workload = `spec:
  controllerRef: {kind: Job, name: j}
  podGroupTemplates: [{name: t, schedulingPolicy: {gang: {minCount: 2}}}]`

func TestWorkloadRules(t *testing.T) {
	k := kindtest.New(t, "workloads.v1beta1.scheduling.k8s.io", workload, "GenericWorkload", "TopologyAwareWorkloadScheduling", "DRAWorkloadResourceClaims", "CompositePodGroup", "PodGroupPreemptionPolicy", "WorkloadWithJob")
	k.Create(kindtest.Rules{
		{"a workload has templates", "spec.podGroupTemplates[0].schedulingPolicy: {basic: {}}",
			"spec.podGroupTemplates: []",
			"spec: Invalid value: \"\": must specify one of: `podGroupTemplates`, `compositePodGroupTemplates`"},
		{"a workload has one kind of templates",
			"spec: {compositePodGroupTemplates: [{name: a, schedulingPolicy: {basic: {}}, " +
				"podGroupTemplates: [{name: b, schedulingPolicy: {basic: {}}}]}]}",
			"spec.compositePodGroupTemplates: [{name: a, schedulingPolicy: {basic: {}}, " +
				"podGroupTemplates: [{name: b, schedulingPolicy: {basic: {}}}]}]",
			`spec: Invalid value: "{podGroupTemplates, compositePodGroupTemplates}": must specify ` +
				"exactly one of: `podGroupTemplates`, `compositePodGroupTemplates`"},
		{"a controller has a kind", "spec.controllerRef.apiGroup: batch", `spec.controllerRef.kind: ""`,
			"spec.controllerRef.kind: Required value"},
		{"a controller has a name", "spec.controllerRef.name: k", `spec.controllerRef.name: ""`,
			"spec.controllerRef.name: Required value"},
		{"the group of a controller is a subdomain", "spec.controllerRef.apiGroup: a.b",
			"spec.controllerRef.apiGroup: A",
			`spec.controllerRef.apiGroup: Invalid value: "A": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with " +
				"an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"a template has a name", "spec.podGroupTemplates[0].name: u", `spec.podGroupTemplates[0].name: ""`,
			"spec.podGroupTemplates[0].name: Required value"},
		{"the name of a template is a label", "spec.podGroupTemplates[0].name: a-b",
			"spec.podGroupTemplates[0].name: a.b",
			`spec.podGroupTemplates[0].name: Invalid value: "a.b": must not contain dots`},
		{"templates have different names", "spec.podGroupTemplates[1]: {name: u, schedulingPolicy: {basic: {}}}",
			"spec.podGroupTemplates[1]: {name: t, schedulingPolicy: {basic: {}}}",
			"spec.podGroupTemplates[1]: Duplicate value: " +
				`{"name":"t","schedulingPolicy":{"basic":{}},"schedulingConstraints":null}`},
		{"at most eight templates",
			"spec.podGroupTemplates: " + kindtest.List(8, "{name: t%d, schedulingPolicy: {basic: {}}}"),
			"spec.podGroupTemplates: " + kindtest.List(9, "{name: t%d, schedulingPolicy: {basic: {}}}"),
			"spec.podGroupTemplates: Too many: 9: must have at most 8 items"},
		{"a template has a policy", "spec.podGroupTemplates[0].schedulingPolicy: {basic: {}}",
			"spec.podGroupTemplates[0].schedulingPolicy: {}",
			`spec.podGroupTemplates[0].schedulingPolicy: Invalid value: "": must specify one of: ` +
				"`basic`, `gang`"},
		{"a template has one policy", "spec.podGroupTemplates[0].schedulingPolicy: {basic: {}}",
			"spec.podGroupTemplates[0].schedulingPolicy.basic: {}",
			`spec.podGroupTemplates[0].schedulingPolicy: Invalid value: "{basic, gang}": must ` +
				"specify exactly one of: `basic`, `gang`"},
		{"a gang has a pod", "spec.podGroupTemplates[0].schedulingPolicy.gang.minCount: 1",
			"spec.podGroupTemplates[0].schedulingPolicy.gang.minCount: 0",
			"spec.podGroupTemplates[0].schedulingPolicy.gang.minCount: Required value"},
		{"a topology has a key", "spec.podGroupTemplates[0].schedulingConstraints: {topology: [{key: a.b/c}]}",
			"spec.podGroupTemplates[0].schedulingConstraints: {topology: [{key: a b}]}",
			`spec.podGroupTemplates[0].schedulingConstraints.topology[0].key: Invalid value: "a b": ` +
				"name part must consist of alphanumeric characters, '-', '_' or '.', and must start and " +
				"end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex " +
				"used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"a template has one topology", "spec.podGroupTemplates[0].schedulingConstraints: {topology: [{key: a}]}",
			"spec.podGroupTemplates[0].schedulingConstraints: {topology: [{key: a}, {key: b}]}",
			"spec.podGroupTemplates[0].schedulingConstraints.topology: Too many: 2: must have at most 1 item"},
		{"a claim has a source", "spec.podGroupTemplates[0].resourceClaims: [{name: c, resourceClaimName: d}]",
			"spec.podGroupTemplates[0].resourceClaims: [{name: c}]",
			`spec.podGroupTemplates[0].resourceClaims[0]: Invalid value: "": must specify one of: ` +
				"`resourceClaimName`, `resourceClaimTemplateName`"},
		{"a claim has one source",
			"spec.podGroupTemplates[0].resourceClaims: [{name: c, resourceClaimTemplateName: d}]",
			"spec.podGroupTemplates[0].resourceClaims: [{name: c, resourceClaimName: d, " +
				"resourceClaimTemplateName: d}]",
			`spec.podGroupTemplates[0].resourceClaims[0]: Invalid value: "{resourceClaimName, ` +
				"resourceClaimTemplateName}\": must specify exactly one of: `resourceClaimName`, " +
				"`resourceClaimTemplateName`"},
		{"at most four claims",
			"spec.podGroupTemplates[0].resourceClaims: " + kindtest.List(4, "{name: c%d, resourceClaimName: d}"),
			"spec.podGroupTemplates[0].resourceClaims: " + kindtest.List(5, "{name: c%d, resourceClaimName: d}"),
			"spec.podGroupTemplates[0].resourceClaims: Too many: 5: must have at most 4 items"},
		{"a disruption is of one or of all", "spec.podGroupTemplates[0].disruptionMode: {all: {}}",
			"spec.podGroupTemplates[0].disruptionMode: {}",
			`spec.podGroupTemplates[0].disruptionMode: Invalid value: "": must specify one of: ` +
				"`single`, `all`"},
		{"the name of a priority class is a subdomain", "spec.podGroupTemplates[0].priorityClassName: a.b",
			"spec.podGroupTemplates[0].priorityClassName: A",
			`spec.podGroupTemplates[0].priorityClassName: Invalid value: "A": a lowercase RFC 1123 ` +
				"subdomain must consist of lower case alphanumeric characters, '-' or '.', and must " +
				"start and end with an alphanumeric character (e.g. 'example.com', regex used for " +
				`validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"a priority is one of users", "spec.podGroupTemplates[0].priority: 1000000000",
			"spec.podGroupTemplates[0].priority: 1000000001",
			"spec.podGroupTemplates[0].priority: Invalid value: 1000000001: must be less than or " +
				"equal to 1000000000"},
		{"priorities are the same", "spec.podGroupTemplates[0].priority: 1",
			"spec.podGroupTemplates[0].priority: 1; spec.podGroupTemplates[1]: {name: u, " +
				"schedulingPolicy: {basic: {}}}",
			"spec: Invalid value: null: detected multiple priority configurations"},
		{"preemption policies are known", "spec.podGroupTemplates[0].preemptionPolicy: Never",
			"spec.podGroupTemplates[0].preemptionPolicy: Other",
			`spec.podGroupTemplates[0].preemptionPolicy: Unsupported value: "Other": supported ` +
				`values: "Never", "PreemptLowerPriority"`},
	})
}

func TestWorkloadTreeRules(t *testing.T) {
	k := kindtest.New(t, "workloads.v1beta1.scheduling.k8s.io", workload, "GenericWorkload", "TopologyAwareWorkloadScheduling", "DRAWorkloadResourceClaims", "CompositePodGroup", "PodGroupPreemptionPolicy", "WorkloadWithJob").With(
		"spec: {compositePodGroupTemplates: [{name: a, schedulingPolicy: {basic: {}}, podGroupTemplates: " +
			"[{name: b, schedulingPolicy: {basic: {}}}]}]}")
	k.Create(kindtest.Rules{
		{"names differ in the tree", "spec.compositePodGroupTemplates[0].podGroupTemplates[0].name: c",
			"spec.compositePodGroupTemplates[0].podGroupTemplates[0].name: a",
			`spec.compositePodGroupTemplates[0].podGroupTemplates[0].name: Duplicate value: "a"`},
		{"priorities are the same in the tree",
			"spec.compositePodGroupTemplates[0].priority: 1; " +
				"spec.compositePodGroupTemplates[0].podGroupTemplates[0].priority: 1",
			"spec.compositePodGroupTemplates[0].priority: 1",
			"spec: Invalid value: null: all priority and priorityClassName values must be identical, " +
				"detected multiple values"},
		{"classes of priorities are the same in the tree",
			"spec.compositePodGroupTemplates[0].priorityClassName: p; " +
				"spec.compositePodGroupTemplates[0].podGroupTemplates[0].priorityClassName: p",
			"spec.compositePodGroupTemplates[0].priorityClassName: p",
			"spec: Invalid value: null: all priority and priorityClassName values must be identical, " +
				"detected multiple values"},
		{"a composite template has a child", "spec.compositePodGroupTemplates[0].podGroupTemplates[0].name: c",
			"spec.compositePodGroupTemplates[0].podGroupTemplates: []",
			`spec.compositePodGroupTemplates[0]: Invalid value: "a": must have at least one child ` +
				"PodGroupTemplate or CompositePodGroupTemplate"},
		{"a composite template below another has a child",
			"spec.compositePodGroupTemplates[0].podGroupTemplates[0].name: c",
			"spec.compositePodGroupTemplates[0].compositePodGroupTemplates: [{name: c, " +
				"schedulingPolicy: {basic: {}}}]",
			`spec.compositePodGroupTemplates[0].compositePodGroupTemplates[0]: Invalid value: "c": ` +
				"must have at least one child PodGroupTemplate or CompositePodGroupTemplate"},
		{"the tree has at most four levels",
			"spec.compositePodGroupTemplates[0].compositePodGroupTemplates: [{name: c, " +
				"schedulingPolicy: {basic: {}}, compositePodGroupTemplates: [{name: d, schedulingPolicy: " +
				"{basic: {}}, podGroupTemplates: [{name: e, schedulingPolicy: {basic: {}}}]}]}]",
			"spec.compositePodGroupTemplates[0].compositePodGroupTemplates: [{name: c, " +
				"schedulingPolicy: {basic: {}}, compositePodGroupTemplates: [{name: d, schedulingPolicy: " +
				"{basic: {}}, compositePodGroupTemplates: [{name: e, schedulingPolicy: {basic: {}}, " +
				"podGroupTemplates: [{name: f, schedulingPolicy: {basic: {}}}]}]}]}]",
			"spec.compositePodGroupTemplates[0]: Invalid value: " +
				`[{"Name":"c","Sched...Templates":null}]}]}]: maximum template hierarchy depth is 4`},
		{"a gang has a group", "spec.compositePodGroupTemplates[0].schedulingPolicy: {gang: {minGroupCount: 1}}",
			"spec.compositePodGroupTemplates[0].schedulingPolicy: {gang: {minGroupCount: 0}}",
			"spec.compositePodGroupTemplates[0].schedulingPolicy.gang.minGroupCount: Required value"},
	})
}

func TestWorkloadUpdateRules(t *testing.T) {
	k := kindtest.New(t, "workloads.v1beta1.scheduling.k8s.io", workload, "GenericWorkload", "TopologyAwareWorkloadScheduling", "DRAWorkloadResourceClaims", "CompositePodGroup", "PodGroupPreemptionPolicy", "WorkloadWithJob")
	k.Update(kindtest.Rules{
		{"templates are not added", "spec.podGroupTemplates[0].schedulingPolicy.gang.minCount: 3",
			"spec.podGroupTemplates[1]: {name: u, schedulingPolicy: {basic: {}}}",
			"spec.podGroupTemplates[1]: Forbidden: item may not be added"},
		{"templates are not removed", "spec.podGroupTemplates[0].schedulingPolicy.gang.minCount: 3",
			"spec.podGroupTemplates[0].name: u",
			"spec.podGroupTemplates[0]: Forbidden: item may not be added; spec.podGroupTemplates: " +
				"Forbidden: item may not be removed"},
		{"the controller is immutable", "spec.podGroupTemplates[0].schedulingPolicy.gang.minCount: 3",
			"spec.controllerRef.name: k", "spec.controllerRef: Invalid value: null: field is immutable"},
		{"a gang stays one", "spec.podGroupTemplates[0].schedulingPolicy.gang.minCount: 3",
			"spec.podGroupTemplates[0].schedulingPolicy: {basic: {}}",
			"spec.podGroupTemplates[0].schedulingPolicy.basic: Invalid value: null: field is " +
				"immutable; spec.podGroupTemplates[0].schedulingPolicy.gang: Invalid value: null: field " +
				"cannot be cleared once set"},
		{"the priority of a template is immutable", "spec.podGroupTemplates[0].schedulingPolicy.gang.minCount: 3",
			"spec.podGroupTemplates[0].priority: 1",
			"spec.podGroupTemplates[0].priority: Invalid value: null: field is immutable"},
	})
}

func TestWorkloadColumns(t *testing.T) {
	k := kindtest.New(t, "workloads.v1beta1.scheduling.k8s.io", workload, "GenericWorkload", "TopologyAwareWorkloadScheduling", "DRAWorkloadResourceClaims", "CompositePodGroup", "PodGroupPreemptionPolicy", "WorkloadWithJob")
	k.Columns("Name|Age", kindtest.Cases{
		{"a workload", "", "x|60m"},
	})
}

func TestWorkloadWithoutGatesCreated(t *testing.T) {
	kindtest.New(t, "workloads.v1beta1.scheduling.k8s.io", workload, "GenericWorkload").Created(kindtest.Cases{
		{"fields of disabled features are dropped",
			"spec.podGroupTemplates: [{name: t, schedulingPolicy: {basic: {}}, resourceClaims: " +
				"[{name: c, resourceClaimName: d}], schedulingConstraints: {}, preemptionPolicy: " +
				"Never}]; spec.compositePodGroupTemplates: [{name: c}]",
			"spec.podGroupTemplates[0].resourceClaims: null; " +
				"spec.podGroupTemplates[0].schedulingConstraints: null; " +
				"spec.podGroupTemplates[0].preemptionPolicy: null; spec.compositePodGroupTemplates: null"},
	})
}
