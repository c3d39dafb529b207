package scheduling_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const podGroup = `spec: {workloadRef: {workloadName: w, templateName: t}, schedulingPolicy: {basic: {}}}`

func TestPodGroupRules(t *testing.T) {
	k := kindtest.New(t, "podgroups.v1beta1.scheduling.k8s.io", podGroup, "GenericWorkload", "TopologyAwareWorkloadScheduling", "DRAWorkloadResourceClaims", "CompositePodGroup", "PodGroupPreemptionPolicy", "WorkloadWithJob")
	k.Create(kindtest.Rules{
		{"a reference has a workload", "spec.workloadRef.workloadName: a.b", `spec.workloadRef.workloadName: ""`,
			"spec.workloadRef.workloadName: Required value"},
		{"a reference has a template", "spec.workloadRef.templateName: a-b", `spec.workloadRef.templateName: ""`,
			"spec.workloadRef.templateName: Required value"},
		{"a group has a policy", "spec.schedulingPolicy: {gang: {minCount: 1}}", "spec.schedulingPolicy: {}",
			"spec.schedulingPolicy: Invalid value: \"\": must specify one of: `basic`, `gang`"},
		{"a gang has a pod", "spec.schedulingPolicy: {gang: {minCount: 1}}",
			"spec.schedulingPolicy: {gang: {minCount: 0}}", "spec.schedulingPolicy.gang.minCount: Required value"},
		{"a disruption is of one or of all", "spec.disruptionMode: {all: {}}", "spec.disruptionMode: {}",
			"spec.disruptionMode: Invalid value: \"\": must specify one of: `single`, `all`"},
		{"a claim has a source", "spec.resourceClaims: [{name: c, resourceClaimName: d}]",
			"spec.resourceClaims: [{name: c}]",
			"spec.resourceClaims[0]: Invalid value: \"\": must specify one of: `resourceClaimName`, " +
				"`resourceClaimTemplateName`"},
		{"claims have different names",
			"spec.resourceClaims: [{name: c, resourceClaimName: d}, {name: e, resourceClaimName: d}]",
			"spec.resourceClaims: [{name: c, resourceClaimName: d}, {name: c, resourceClaimName: d}]",
			`spec.resourceClaims[1]: Duplicate value: {"name":"c","resourceClaimName":"d"}`},
		{"a priority is one of users", "spec.priority: 5", "spec.priority: 1000000001",
			"spec.priority: Invalid value: 1000000001: must be less than or equal to 1000000000"},
		{"the name of a parent is a subdomain", "spec.parentCompositePodGroupName: a.b",
			"spec.parentCompositePodGroupName: A",
			`spec.parentCompositePodGroupName: Invalid value: "A": a lowercase RFC 1123 subdomain ` +
				"must consist of lower case alphanumeric characters, '-' or '.', and must start and end " +
				"with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"preemption policies are known", "spec.preemptionPolicy: PreemptLowerPriority",
			"spec.preemptionPolicy: Other",
			`spec.preemptionPolicy: Unsupported value: "Other": supported values: "Never", ` +
				`"PreemptLowerPriority"`},
	})
}

func TestPodGroupUpdateRules(t *testing.T) {
	k := kindtest.New(t, "podgroups.v1beta1.scheduling.k8s.io", podGroup, "GenericWorkload", "TopologyAwareWorkloadScheduling", "DRAWorkloadResourceClaims", "CompositePodGroup", "PodGroupPreemptionPolicy", "WorkloadWithJob")
	k.Update(kindtest.Rules{
		{"the workload is immutable", "metadata.labels: {a: b}", "spec.workloadRef.workloadName: x",
			"spec.workloadRef: Invalid value: null: field is immutable"},
		{"claims are immutable", "metadata.labels: {a: b}", "spec.resourceClaims: [{name: c, resourceClaimName: d}]",
			"spec.resourceClaims: Invalid value: null: field is immutable"},
		{"the priority is immutable", "metadata.labels: {a: b}", "spec.priority: 3",
			"spec.priority: Invalid value: null: field is immutable"},
		{"the policy is immutable", "metadata.labels: {a: b}", "spec.schedulingPolicy: {gang: {minCount: 1}}",
			"spec.schedulingPolicy.basic: Invalid value: null: field is immutable; " +
				"spec.schedulingPolicy.gang: Invalid value: null: field cannot be set once created"},
	})
}

func TestPodGroupStatusRules(t *testing.T) {
	k := kindtest.New(t, "podgroups.v1beta1.scheduling.k8s.io", podGroup, "GenericWorkload", "TopologyAwareWorkloadScheduling", "DRAWorkloadResourceClaims", "CompositePodGroup", "PodGroupPreemptionPolicy", "WorkloadWithJob").With(
		"spec.resourceClaims: [{name: c, resourceClaimName: d}]")
	k.UpdateStatus(kindtest.Rules{
		{"a status is of a claim", "status.resourceClaimStatuses: [{name: c, resourceClaimName: x}]",
			"status.resourceClaimStatuses: [{name: e, resourceClaimName: x}]",
			`status.resourceClaimStatuses[0].name: Invalid value: "e": must match the name of an ` +
				"entry in `spec.resourceClaims`"},
		{"the name of a claim is a subdomain", "status.resourceClaimStatuses: [{name: c, resourceClaimName: x.z}]",
			"status.resourceClaimStatuses: [{name: c, resourceClaimName: X}]",
			`status.resourceClaimStatuses[0].resourceClaimName: Invalid value: "X": a lowercase RFC ` +
				"1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must " +
				"start and end with an alphanumeric character (e.g. 'example.com', regex used for " +
				`validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"a condition has a reason",
			`status.conditions: [{type: A, status: "True", reason: R, message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`,
			`status.conditions: [{type: A, status: "True", reason: "", message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`, "status.conditions[0].reason: Required value"},
	})
}

func TestPodGroupCreated(t *testing.T) {
	k := kindtest.New(t, "podgroups.v1beta1.scheduling.k8s.io", podGroup, "GenericWorkload", "TopologyAwareWorkloadScheduling", "DRAWorkloadResourceClaims", "CompositePodGroup", "PodGroupPreemptionPolicy", "WorkloadWithJob")
	k.Created(kindtest.Cases{
		{"a disruption is of a single pod", "", `spec.disruptionMode: {"single":{}}`},
		{"a disruption of all", "spec.disruptionMode: {all: {}}", `spec.disruptionMode: {"all":{}}`},
	})
}

func TestPodGroupStatusUpdated(t *testing.T) {
	k := kindtest.New(t, "podgroups.v1beta1.scheduling.k8s.io", podGroup, "GenericWorkload", "TopologyAwareWorkloadScheduling", "DRAWorkloadResourceClaims", "CompositePodGroup", "PodGroupPreemptionPolicy", "WorkloadWithJob")
	k.StatusUpdated(kindtest.Cases{
		{"the status alone",
			`spec.priority: 5; status.conditions: [{type: A, status: "True", reason: R, message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`, "spec.priority: null; status.conditions[0].type: A"},
	})
}

func TestPodGroupColumns(t *testing.T) {
	k := kindtest.New(t, "podgroups.v1beta1.scheduling.k8s.io", podGroup, "GenericWorkload", "TopologyAwareWorkloadScheduling", "DRAWorkloadResourceClaims", "CompositePodGroup", "PodGroupPreemptionPolicy", "WorkloadWithJob")
	k.Columns("Name|Policy|Workload|Status|Age", kindtest.Cases{
		{"basic", "", "x|Basic|w|Pending|60m"},
		{"of no workload", "spec.workloadRef: null", "x|Basic|<none>|Pending|60m"},
		{"a gang",
			"spec.schedulingPolicy: {gang: {minCount: 1}}; status.conditions: [{type: " +
				`PodGroupInitiallyScheduled, status: "True", reason: R, message: "", lastTransitionTime: ` +
				`"2026-05-04T11:00:00Z"}]`, "x|Gang|w|Scheduled|60m"},
		{"unschedulable",
			`status.conditions: [{type: PodGroupInitiallyScheduled, status: "False", reason: R, ` +
				`message: "", lastTransitionTime: "2026-05-04T11:00:00Z"}]`, "x|Basic|w|Unschedulable|60m"},
		{"disrupted",
			`status.conditions: [{type: DisruptionTarget, status: "True", reason: ` +
				`PreemptionByScheduler, message: "", lastTransitionTime: "2026-05-04T11:00:00Z"}]`,
			"x|Basic|w|PreemptionByScheduler|60m"},
	})
}

func TestPodGroupWithoutGatesCreated(t *testing.T) {
	kindtest.New(t, "podgroups.v1beta1.scheduling.k8s.io", podGroup, "GenericWorkload").Created(kindtest.Cases{
		{"fields of disabled features are dropped",
			"spec.parentCompositePodGroupName: p; spec.preemptionPolicy: Never",
			"spec.parentCompositePodGroupName: null; spec.preemptionPolicy: null"},
	})
}
