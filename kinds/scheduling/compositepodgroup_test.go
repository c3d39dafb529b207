package scheduling_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const compositeGroup = `spec: {workloadRef: {workloadName: w, templateName: t}, schedulingPolicy: {gang: {minGroupCount: 2}}}`

func TestCompositeGroupRules(t *testing.T) {
	k := kindtest.New(t, "compositepodgroups.v1alpha3.scheduling.k8s.io", compositeGroup, "GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup", "PodGroupPreemptionPolicy", "WorkloadWithJob")
	k.Create(kindtest.Rules{
		{"a reference is required", "spec.workloadRef.workloadName: a.b", "spec.workloadRef: null",
			"spec.workloadRef: Required value"},
		{"a reference has a template", "spec.workloadRef.templateName: a-b", `spec.workloadRef.templateName: ""`,
			"spec.workloadRef.templateName: Required value"},
		{"a group has a policy", "spec.schedulingPolicy: {basic: {}}", "spec.schedulingPolicy: {}",
			"spec.schedulingPolicy: Invalid value: \"\": must specify one of: `basic`, `gang`"},
		{"a gang has a group", "spec.schedulingPolicy.gang.minGroupCount: 1",
			"spec.schedulingPolicy.gang.minGroupCount: 0",
			"spec.schedulingPolicy.gang.minGroupCount: Required value"},
		{"a disruption is of one or of all", "spec.disruptionMode: {all: {}}", "spec.disruptionMode: {}",
			"spec.disruptionMode: Invalid value: \"\": must specify one of: `single`, `all`"},
		{"preemption policies are known", "spec.preemptionPolicy: Never", "spec.preemptionPolicy: Other",
			`spec.preemptionPolicy: Unsupported value: "Other": supported values: "Never", ` +
				`"PreemptLowerPriority"`},
	})
}

func TestCompositeGroupUpdateRules(t *testing.T) {
	k := kindtest.New(t, "compositepodgroups.v1alpha3.scheduling.k8s.io", compositeGroup, "GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup", "PodGroupPreemptionPolicy", "WorkloadWithJob")
	k.Update(kindtest.Rules{
		{"the workload is immutable", "metadata.labels: {a: b}", "spec.workloadRef.workloadName: v",
			"spec.workloadRef: Invalid value: null: field is immutable"},
		{"the disruption is immutable", "metadata.labels: {a: b}", "spec.disruptionMode: {all: {}}",
			"spec.disruptionMode: Invalid value: null: field is immutable"},
	})
}

func TestCompositeGroupStatusRules(t *testing.T) {
	k := kindtest.New(t, "compositepodgroups.v1alpha3.scheduling.k8s.io", compositeGroup, "GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup", "PodGroupPreemptionPolicy", "WorkloadWithJob")
	k.UpdateStatus(kindtest.Rules{
		{"the type of a condition is a qualified name",
			`status.conditions: [{type: A, status: "True", reason: R, message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`,
			`status.conditions: [{type: a b, status: "True", reason: R, message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`,
			`status.conditions[0].type: Invalid value: "a b": name part must consist of alphanumeric ` +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
				"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
	})
}

func TestCompositeGroupCreated(t *testing.T) {
	k := kindtest.New(t, "compositepodgroups.v1alpha3.scheduling.k8s.io", compositeGroup, "GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup", "PodGroupPreemptionPolicy", "WorkloadWithJob")
	k.Created(kindtest.Cases{
		{"a disruption is of a single group", "", `spec.disruptionMode: {"single":{}}`},
	})
}

func TestCompositeGroupColumns(t *testing.T) {
	k := kindtest.New(t, "compositepodgroups.v1alpha3.scheduling.k8s.io", compositeGroup, "GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup", "PodGroupPreemptionPolicy", "WorkloadWithJob")
	k.Columns("Name|Policy|Workload|Age", kindtest.Cases{
		{"a gang", "", "x|Gang|w|60m"},
		{"basic", "spec.schedulingPolicy: {basic: {}}", "x|Basic|w|60m"},
	})
}

func TestCompositeGroupWithoutPolicyCreated(t *testing.T) {
	k := kindtest.New(t, "compositepodgroups.v1alpha3.scheduling.k8s.io", compositeGroup, "GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup")
	k.Created(kindtest.Cases{
		{"a preemption policy is dropped without its gate", "spec.preemptionPolicy: Never",
			"spec.preemptionPolicy: null"},
	})
}
