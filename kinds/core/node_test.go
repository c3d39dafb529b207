package core_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const node = `spec: {}`

func TestNodeRules(t *testing.T) {
	kindtest.New(t, "nodes.v1", node).Create(kindtest.Rules{
		{"taint", "spec.taints: [{key: a.b/c, value: d, effect: NoSchedule}]",
			`spec.taints: [{key: "a b", effect: NoSchedule}]`,
			`metadata.taints[0].key: Invalid value: "a b": name part must consist of alphanumeric ` +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"value of a taint", "spec.taints: [{key: a, value: b, effect: NoSchedule}]",
			`spec.taints: [{key: a, value: "b c", effect: NoSchedule}]`,
			`metadata.taints[0].value: Invalid value: "b c": a valid label must be an empty string or ` +
				"consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
				"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"effect of a taint", "spec.taints: [{key: a, effect: NoExecute}]", "spec.taints: [{key: a, effect: Never}]",
			`metadata.taints[0].effect: Unsupported value: "Never": supported values: "NoSchedule", ` +
				`"PreferNoSchedule", "NoExecute"`},
		{"no effect", "spec.taints: [{key: a, effect: PreferNoSchedule}]", "spec.taints: [{key: a}]",
			"metadata.taints[0].effect: Required value"},
		{"taint twice", "spec.taints: [{key: a, effect: NoSchedule}, {key: a, effect: NoExecute}]",
			"spec.taints: [{key: a, effect: NoSchedule}, {key: a, value: b, effect: NoSchedule}]",
			"metadata.taints[1]: Duplicate value: " +
				`{"Key":"a","Value":"b","Effect":"NoSchedule","TimeAdded":null}: taints must be unique by ` +
				"key and effect pair"},
		{"capacity", "status.capacity: {cpu: 1}", "status.capacity: {cpu: -1}",
			`status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0; ` +
				`status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0`},
		{"fraction of pods", "status.capacity: {pods: 1}", "status.allocatable: {pods: 500m}",
			`status.allocatable.pods: Invalid value: "500m": must be an integer`},
		{"swap", "status.nodeInfo.swap.capacity: 1", "status.nodeInfo.swap.capacity: 0",
			"metadata.nodeSwapStatus.capacity: Invalid value: 0: must be greater than zero"},
		{"podCIDR", "spec.podCIDR: 10.0.0.0/24", "spec.podCIDR: 10.0.0.0",
			`spec.podCIDRs[0]: Invalid value: "10.0.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 ` +
				"or 2001:db8::/64)"},
		{"two CIDRs", `spec.podCIDRs: [10.0.0.0/24, "fd00::/64"]`, "spec.podCIDRs: [10.0.0.0/24, 10.0.1.0/24]",
			`spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one ` +
				"CIDR for each IP family"},
		{"three CIDRs", `spec.podCIDRs: [10.0.0.0/24, "fd00::/64"]`,
			`spec.podCIDRs: [10.0.0.0/24, "fd00::/64", 10.0.1.0/24]`,
			`spec.podCIDRs: Invalid value: ["10.0.0.0/24","fd00::/64","10.0.1.0/24"]: may specify no ` +
				"more than one CIDR for each IP family"},
		{"annotated taints", `metadata.annotations[scheduler.alpha.kubernetes.io/taints]: "[]"`,
			`metadata.annotations[scheduler.alpha.kubernetes.io/taints]: "{"`,
			`metadata.annotations: Invalid value: "scheduler.alpha.kubernetes.io/taints": unexpected end ` +
				"of JSON input"},
		{"effect of an annotated taint", `metadata.annotations[scheduler.alpha.kubernetes.io/taints]: "[]"`,
			`metadata.annotations[scheduler.alpha.kubernetes.io/taints]: '[{"key":"a","effect":"B"}]'`,
			"metadata.annotations.scheduler.alpha.kubernetes.io/taints[0].effect: Unsupported value: " +
				`"B": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`},
		{"avoided pods", `metadata.annotations[scheduler.alpha.kubernetes.io/preferAvoidPods]: "{}"`,
			`metadata.annotations[scheduler.alpha.kubernetes.io/preferAvoidPods]: "["`,
			"metadata.annotations.AvoidPods: Invalid value: " +
				`"scheduler.alpha.kubernetes.io/preferAvoidPods": unexpected end of JSON input`},
		{"controller of avoided pods",
			"metadata.annotations[scheduler.alpha.kubernetes.io/preferAvoidPods]: " +
				`'{"preferAvoidPods":[{"podSignature":{"podController":{"controller":true}}}]}'`,
			"metadata.annotations[scheduler.alpha.kubernetes.io/preferAvoidPods]: " +
				`'{"preferAvoidPods":[{"podSignature":{"podController":{"controller":false}}}]}'`,
			"metadata.annotations.scheduler.alpha.kubernetes.io/preferAvoidPods[0].PodSignature.PodContro" +
				"ller.Controller: Invalid value: false: must point to a controller"},
		{"no controller",
			`metadata.annotations[scheduler.alpha.kubernetes.io/preferAvoidPods]: '{"preferAvoidPods":[]}'`,
			"metadata.annotations[scheduler.alpha.kubernetes.io/preferAvoidPods]: " +
				`'{"preferAvoidPods":[{"podSignature":{}}]}'`,
			"metadata.annotations.scheduler.alpha.kubernetes.io/preferAvoidPods[0].PodSignature: Required value"},
	})
}

func TestNodeChanges(t *testing.T) {
	kindtest.New(t, "nodes.v1", node).With("spec: {podCIDR: 10.0.0.0/24, providerID: a}").Update(kindtest.Rules{
		{"podCIDR", "spec.podCIDR: 10.0.0.0/24", "spec.podCIDR: 10.0.1.0/24; spec.podCIDRs: [10.0.1.0/24]",
			`spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid`},
		{"podCIDRs", "spec.podCIDRs: [10.0.0.0/24]", `spec.podCIDRs: [10.0.0.0/24, "fd00::/64"]`,
			`spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid`},
		{"providerID", "spec.unschedulable: true", "spec.providerID: b",
			"spec.providerID: Invalid value: null: field cannot be modified once set"},
		{"no providerID", "metadata.labels: {a: b}", "spec.providerID: null",
			"spec.providerID: Invalid value: null: field cannot be cleared once set"},
		{"externalID", "spec.unschedulable: true", "spec.externalID: e",
			"spec.externalID: Forbidden: may not be updated"},
		{"taint", "spec.taints: [{key: a, effect: NoSchedule}]", "spec.taints: [{key: a, effect: Never}]",
			`metadata.taints[0].effect: Unsupported value: "Never": supported values: "NoSchedule", ` +
				`"PreferNoSchedule", "NoExecute"`},
	})
}

func TestNodeStatusRules(t *testing.T) {
	kindtest.New(t, "nodes.v1", node).UpdateStatus(kindtest.Rules{
		{"capacity", "status.capacity: {cpu: 1}", "status.capacity: {cpu: -1}",
			`status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0; ` +
				`status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0`},
		{"allocatable", "status.allocatable: {example.com/a: 1}", "status.allocatable: {example.com/a: 500m}",
			`status.allocatable.example.com/a: Invalid value: "500m": must be an integer`},
		{"address twice", "status.addresses: [{type: InternalIP, address: a}, {type: ExternalIP, address: a}]",
			"status.addresses: [{type: InternalIP, address: a}, {type: InternalIP, address: a}]",
			`status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"a"}`},
	})
}

func TestNodeCreated(t *testing.T) {
	kindtest.New(t, "nodes.v1", node).Created(kindtest.Cases{
		{"CIDRs", "spec.podCIDR: 10.0.0.0/24", `spec.podCIDRs: ["10.0.0.0/24"]`},
		{"CIDR", `spec.podCIDRs: [10.0.0.0/24, "fd00::/64"]`, "spec.podCIDR: 10.0.0.0/24"},
		{"other CIDR", "spec.podCIDR: 10.0.0.0/24; spec.podCIDRs: [10.0.1.0/24]", `spec.podCIDRs: ["10.0.0.0/24"]`},
		{"allocatable", "status.capacity: {cpu: 1}", `status.allocatable.cpu: "1"`},
		{"configSource", "spec.configSource: {configMap: {name: a, namespace: b, kubeletConfigKey: c}}",
			"spec.configSource: null"},
	})
}

func TestNodeStatusUpdated(t *testing.T) {
	kindtest.New(t, "nodes.v1", node).StatusUpdated(kindtest.Cases{
		{"spec", "spec.unschedulable: true; status.capacity: {cpu: 1}",
			`spec.unschedulable: null; status.capacity.cpu: "1"`},
	})
}

func TestNodeWarnings(t *testing.T) {
	kindtest.New(t, "nodes.v1", node).Warnings(kindtest.Cases{
		{"none", "", ""},
		{"externalID", "spec.externalID: a",
			"spec.externalID: this field is deprecated, and is unused by Kubernetes"},
		{"form of a CIDR", `spec.podCIDRs: ["fd00::0:0/64"]`,
			`spec.podCIDRs[0]: IPv6 CIDR value "fd00::0:0/64" should be in RFC 5952 canonical format ("fd00::/64")`},
	})
}

func TestNodeUpdateWarnings(t *testing.T) {
	kindtest.New(t, "nodes.v1", node).UpdateWarnings(kindtest.Cases{
		{"none", "metadata.labels: {a: b}", ""},
	})
}

func TestNodeColumns(t *testing.T) {
	k := kindtest.New(t, "nodes.v1", node)
	k.Columns("Name|Status|Roles|Age|Version|(Internal-IP)|(External-IP)|(OS-Image)|"+
		"(Kernel-Version)|(Container-Runtime)", kindtest.Cases{
		{"new", "", "x|Unknown|<none>|60m||<none>|<none>|<unknown>|<unknown>|<unknown>"},
		{"ready",
			`metadata.labels: {node-role.kubernetes.io/b: "", node-role.kubernetes.io/a: "", ` +
				`kubernetes.io/role: c}; status: {conditions: [{type: Ready, status: "True"}], addresses: ` +
				"[{type: InternalIP, address: 10.0.0.1}, {type: ExternalIP, address: 1.2.3.4}], nodeInfo: " +
				"{kubeletVersion: v1.37.0, osImage: O, kernelVersion: K, containerRuntimeVersion: R, " +
				"architecture: amd64}}", "x|Ready|a,b,c|60m|v1.37.0|10.0.0.1|1.2.3.4|O|K (amd64)|R"},
		{"cordoned", `spec.unschedulable: true; status: {conditions: [{type: Ready, status: "False"}]}`,
			"x|NotReady,SchedulingDisabled|<none>|60m||<none>|<none>|<unknown>|<unknown>|<unknown>"},
	})
}

func TestNodeSelectableFields(t *testing.T) {
	kindtest.New(t, "nodes.v1", node).Selectable(kindtest.Cases{
		{"new", "", "spec.unschedulable=false"},
		{"cordoned", "spec.unschedulable: true", "spec.unschedulable=true"},
	})
}

func TestDeclaredFeatures(t *testing.T) {
	kindtest.New(t, "nodes.v1", node, "NodeDeclaredFeatures").Create(kindtest.Rules{
		{"name", "status.declaredFeatures: [A, A/b]", "status.declaredFeatures: [a]",
			`status.declaredFeatures[0]: Invalid value: "a": invalid feature name "a": must start with ` +
				"an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or " +
				"MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"},
		{"order", "status.declaredFeatures: [A, B]", "status.declaredFeatures: [B, A]",
			`status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically`},
		{"twice", "status.declaredFeatures: [A, B]", "status.declaredFeatures: [A, A]",
			`status.declaredFeatures[1]: Duplicate value: "A"`},
	})
}

// TestNodeTaints checks the ranges and taints of nodes.
func TestNodeTaints(t *testing.T) {
	kindtest.New(t, "nodes.v1", node, "NodeDeclaredFeatures").Create(kindtest.Rules{
		{"ranges of both families", `spec.podCIDRs: [10.0.0.0/24, "fd00::/64"]`,
			"spec.podCIDRs: [10.0.0.0/24, 10.1.0.0/24]",
			`spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: may specify no more than one ` +
				"CIDR for each IP family"},
		{"malformed range", "spec.podCIDRs: [10.0.0.0/24]", "spec.podCIDRs: [10.0.0.0/24, a]",
			`spec.podCIDRs[1]: Invalid value: "a": must be a valid CIDR value, (e.g. 10.9.8.0/24 or ` +
				"2001:db8::/64); spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual " +
				"stack with error:invalid CIDR[1]: <nil> (invalid CIDR address: a); spec.podCIDRs: Invalid " +
				`value: ["10.0.0.0/24","a"]: may specify no more than one CIDR for each IP family`},
		{"effect of a taint", "spec.taints: [{key: a, effect: PreferNoSchedule}]",
			"spec.taints: [{key: a, effect: Never}]",
			`metadata.taints[0].effect: Unsupported value: "Never": supported values: "NoSchedule", ` +
				`"PreferNoSchedule", "NoExecute"`},
		{"no effect", "spec.taints: [{key: a, effect: NoExecute}]", "spec.taints: [{key: a}]",
			"metadata.taints[0].effect: Required value"},
		{"taint twice", "spec.taints: [{key: a, effect: NoSchedule}, {key: a, effect: NoExecute}]",
			"spec.taints: [{key: a, effect: NoSchedule}, {key: a, effect: NoSchedule}]",
			"metadata.taints[1]: Duplicate value: " +
				`{"Key":"a","Value":"","Effect":"NoSchedule","TimeAdded":null}: taints must be unique by key ` +
				"and effect pair"},
		{"value of a taint", "spec.taints: [{key: a, value: b, effect: NoSchedule}]",
			`spec.taints: [{key: a, value: "b c", effect: NoSchedule}]`,
			`metadata.taints[0].value: Invalid value: "b c": a valid label must be an empty string or ` +
				"consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
				"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
	})
}

// TestNodeStates checks the states that the conditions make up.
func TestNodeStates(t *testing.T) {
	k := kindtest.New(t, "nodes.v1", node, "NodeDeclaredFeatures")
	k.Columns("Name|Status|Roles|Age|Version|(Internal-IP)|(External-IP)|(OS-Image)|"+
		"(Kernel-Version)|(Container-Runtime)", kindtest.Cases{
		{"ready", `status.conditions: [{type: MemoryPressure, status: "False"}, {type: Ready, status: "True"}]`,
			"x|Ready|<none>|60m||<none>|<none>|<unknown>|<unknown>|<unknown>"},
		{"not ready", `status.conditions: [{type: Ready, status: "False"}]; spec.unschedulable: true`,
			"x|NotReady,SchedulingDisabled|<none>|60m||<none>|<none>|<unknown>|<unknown>|<unknown>"},
		{"unknown", `status.conditions: [{type: MemoryPressure, status: "False"}]`,
			"x|Unknown|<none>|60m||<none>|<none>|<unknown>|<unknown>|<unknown>"},
		{"roles", `metadata.labels: {node-role.kubernetes.io/a: "", kubernetes.io/role: b}`,
			"x|Unknown|a,b|60m||<none>|<none>|<unknown>|<unknown>|<unknown>"},
		{"addresses",
			"status: {addresses: [{type: InternalIP, address: 10.0.0.1}, {type: ExternalIP, address: " +
				"1.2.3.4}], nodeInfo: {kubeletVersion: v1.37.0, osImage: a, kernelVersion: b, " +
				"containerRuntimeVersion: c}}", "x|Unknown|<none>|60m|v1.37.0|10.0.0.1|1.2.3.4|a|b|c"},
		{"all roles",
			`metadata.labels: {node-role.kubernetes.io/worker: "", node-role.kubernetes.io/: "", ` +
				`node-role.kubernetes.io/control-plane: "", kubernetes.io/role: worker}`,
			"x|Unknown|control-plane,worker|60m||<none>|<none>|<unknown>|<unknown>|<unknown>"},
		{"architecture",
			"status: {conditions: [{type: Ready, status: Unknown}], nodeInfo: {kubeletVersion: v1.37.0, " +
				`osImage: OS, kernelVersion: "6.1", architecture: arm64, containerRuntimeVersion: ` +
				`"containerd://2"}, addresses: [{type: Hostname, address: h}, {type: InternalIP, address: ` +
				`10.0.0.1}, {type: InternalIP, address: "fd00::1"}]}`,
			"x|NotReady|<none>|60m|v1.37.0|10.0.0.1|<none>|OS|6.1 (arm64)|containerd://2"},
	})
}
