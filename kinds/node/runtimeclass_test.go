package node_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const runtimeClass = `handler: a`

func TestRuntimeClassRules(t *testing.T) {
	kindtest.New(t, "runtimeclasses.v1.node.k8s.io", runtimeClass).Create(kindtest.Rules{
		{"handler", "handler: a-b", `handler: ""`, "handler: Required value"},
		{"form of a handler", "handler: a", "handler: A_b",
			`handler: Invalid value: "A_b": a lowercase RFC 1123 label must consist of lower case ` +
				"alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. " +
				"'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"overhead", "overhead.podFixed: {cpu: 1}", "overhead.podFixed: {disk: 1}",
			`overhead.limits[disk]: Invalid value: "disk": must be a standard resource type or fully ` +
				`qualified; overhead.limits[disk]: Invalid value: "disk": must be a standard resource for containers`},
		{"negative overhead", "overhead.podFixed: {cpu: 0}", "overhead.podFixed: {cpu: -1}",
			`overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0`},
		{"node selector", "scheduling.nodeSelector: {a: b}", `scheduling.nodeSelector: {a: "b c"}`,
			`scheduling.nodeSelector: Invalid value: "b c": a valid label must be an empty string or ` +
				"consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
				"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"toleration", "scheduling.tolerations: [{operator: Exists}]", "scheduling.tolerations: [{operator: Is}]",
			"scheduling.tolerations[0].operator: Invalid value: \"Is\": operator must be Exists when `key` " +
				`is empty, which means "match all values and all keys"; scheduling.tolerations[0].operator: ` +
				`Unsupported value: "Is": supported values: "Equal", "Exists"`},
		{"toleration twice", "scheduling.tolerations: [{key: a, operator: Exists}, {key: b, operator: Exists}]",
			"scheduling.tolerations: [{key: a, operator: Exists}, {key: a, operator: Exists}]",
			"scheduling.tolerations[1]: Duplicate value: " +
				`{"Key":"a","Operator":"Exists","Value":"","Effect":"","TolerationSeconds":null}`},
		{"length of a handler", "handler: " + strings.Repeat("a", 63), "handler: " + strings.Repeat("a", 64),
			`handler: Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": ` +
				"must be no more than 63 bytes"},
		{"key of a node selector", "scheduling.nodeSelector: {a.b/c: d}", `scheduling.nodeSelector: {"a b": d}`,
			`scheduling.nodeSelector: Invalid value: "a b": name part must consist of alphanumeric ` +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"effect of a toleration", "scheduling.tolerations: [{key: a, effect: NoSchedule}]",
			"scheduling.tolerations: [{key: a, effect: Never}]",
			`scheduling.tolerations[0].effect: Unsupported value: "Never": supported values: ` +
				`"NoSchedule", "PreferNoSchedule", "NoExecute"`},
		{"toleration twice with other seconds",
			"scheduling.tolerations: [{key: a, operator: Exists, effect: NoExecute}]",
			"scheduling.tolerations: [{key: a, operator: Exists, effect: NoExecute}, {key: a, operator: " +
				"Exists, effect: NoExecute, tolerationSeconds: 1}]",
			"scheduling.tolerations[1]: Duplicate value: " +
				`{"Key":"a","Operator":"Exists","Value":"","Effect":"NoExecute","TolerationSeconds":1}`},
		{"value of a toleration", "scheduling.tolerations: [{key: a, operator: Equal, value: b}]",
			"scheduling.tolerations: [{key: a, operator: Exists, value: b}]",
			"scheduling.tolerations[0].operator: Invalid value: \"b\": value must be empty when `operator` " +
				"is 'Exists'"},
	})
}

func TestRuntimeClassUpdateRules(t *testing.T) {
	kindtest.New(t, "runtimeclasses.v1.node.k8s.io", runtimeClass).Update(kindtest.Rules{
		{"handler", "overhead.podFixed: {cpu: 1}", "handler: b", "handler: Invalid value: null: field is immutable"},
		{"overhead", "overhead.podFixed: {cpu: 1}", `overhead.podFixed: {cpu: "-1"}`,
			`overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0`},
		{"node selector", "scheduling.nodeSelector: {a: b}", `scheduling.nodeSelector: {a: "b c"}`,
			`scheduling.nodeSelector: Invalid value: "b c": a valid label must be an empty string or ` +
				"consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
				"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
	})
}

func TestRuntimeClassWarnings(t *testing.T) {
	kindtest.New(t, "runtimeclasses.v1.node.k8s.io", runtimeClass).Warnings(kindtest.Cases{
		{"none", "", ""},
		{"label", "scheduling.nodeSelector: {beta.kubernetes.io/os: linux}",
			`scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead`},
	})
}

func TestRuntimeClassColumns(t *testing.T) {
	kindtest.New(t, "runtimeclasses.v1.node.k8s.io", runtimeClass).Columns("Name|Handler|Age", kindtest.Cases{
		{"plain", "", "x|a|60m"},
	})
}

func TestRuntimeClassUpdateWarnings(t *testing.T) {
	kindtest.New(t, "runtimeclasses.v1.node.k8s.io", runtimeClass).UpdateWarnings(kindtest.Cases{
		{"none", "overhead.podFixed: {cpu: 1}", ""},
		{"label", `scheduling.nodeSelector: {node-role.kubernetes.io/master: ""}`,
			`scheduling.nodeSelector: use "node-role.kubernetes.io/control-plane" instead`},
	})
}

// TestRuntimeClassConverted shows that v1alpha1 has the fields in a spec.
func TestRuntimeClassConverted(t *testing.T) {
	kindtest.New(t, "runtimeclasses.v1.node.k8s.io", runtimeClass).Converted("v1alpha1", kindtest.Cases{
		{"handler", "overhead.podFixed: {cpu: 1}; scheduling.nodeSelector: {a: b}",
			`spec.runtimeHandler: a; spec.overhead: {"podFixed":{"cpu":"1"}}; spec.scheduling: ` +
				`{"nodeSelector":{"a":"b"}}; handler: null`},
	})
}

const oldRuntimeClass = `spec: {runtimeHandler: a, overhead: {podFixed: {cpu: 1}}}`

// TestOldRuntimeClassConverted shows what v1 has for an object of v1alpha1.
func TestOldRuntimeClassConverted(t *testing.T) {
	kindtest.New(t, "runtimeclasses.v1alpha1.node.k8s.io", oldRuntimeClass).Converted("v1", kindtest.Cases{
		{"handler", "", `handler: a; overhead: {"podFixed":{"cpu":"1"}}; spec: null`},
	})
}
