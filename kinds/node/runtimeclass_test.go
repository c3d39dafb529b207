package node_test

import (
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
	})
}

func TestRuntimeClassUpdateRules(t *testing.T) {
	kindtest.New(t, "runtimeclasses.v1.node.k8s.io", runtimeClass).Update(kindtest.Rules{
		{"handler", "overhead.podFixed: {cpu: 1}", "handler: b", "handler: Invalid value: null: field is immutable"},
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
