package resource_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const taintRule = `spec:
  deviceSelector: {driver: d, pool: p, device: x}
  taint: {key: k, effect: NoSchedule, timeAdded: "2026-05-04T10:00:00Z"}`

func TestTaintRuleRules(t *testing.T) {
	kindtest.New(t, "devicetaintrules.v1.resource.k8s.io", taintRule).Create(kindtest.Rules{
		{"a driver is a subdomain", "spec.deviceSelector.driver: a.b", "spec.deviceSelector.driver: a_b",
			`spec.deviceSelector.driver: Invalid value: "a_b": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with " +
				"an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"a driver is not empty", "spec.deviceSelector.driver: null", `spec.deviceSelector.driver: ""`,
			"spec.deviceSelector.driver: Required value"},
		{"a pool is a path of subdomains", "spec.deviceSelector.pool: a/b.c", "spec.deviceSelector.pool: a/_",
			`spec.deviceSelector.pool: Invalid value: "_": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with " +
				"an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"a pool is not empty", "spec.deviceSelector.pool: null", `spec.deviceSelector.pool: ""`,
			"spec.deviceSelector.pool: Required value"},
		{"a device is a label", "spec.deviceSelector.device: a-b", "spec.deviceSelector.device: a.b",
			`spec.deviceSelector.device: Invalid value: "a.b": must not contain dots`},
		{"a taint has a key", "spec.taint.key: a.b/c", `spec.taint.key: ""`,
			`spec.taint.key: Invalid value: "": name part must be non-empty; spec.taint.key: Invalid ` +
				`value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must ` +
				"start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or " +
				"'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"a key is a qualified name", "spec.taint.key: a.b/c", "spec.taint.key: a/b/c",
			`spec.taint.key: Invalid value: "a/b/c": a valid label key must consist of alphanumeric ` +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
				"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and " +
				"'/' (e.g. 'example.com/MyName')"},
		{"a value is a label value", "spec.taint.value: a_b", "spec.taint.value: a b",
			`spec.taint.value: Invalid value: "a b": a valid label must be an empty string or ` +
				"consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
				"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"a taint has an effect", "spec.taint.effect: NoExecute", "spec.taint.effect: null",
			"spec.taint.effect: Required value"},
		{"the effects are known", "spec.taint.effect: None", "spec.taint.effect: Other",
			`spec.taint.effect: Unsupported value: "Other": supported values: "NoExecute", "NoSchedule", "None"`},
	})
}

func TestTaintRuleUpdateRules(t *testing.T) {
	kindtest.New(t, "devicetaintrules.v1.resource.k8s.io", taintRule).Update(kindtest.Rules{
		{"a changed effect is known", "spec.taint.effect: NoExecute", "spec.taint.effect: Other",
			`spec.taint.effect: Unsupported value: "Other": supported values: "NoExecute", "NoSchedule", "None"`},
		{"a changed key is valid", "spec.taint.key: l", `spec.taint.key: ""`,
			`spec.taint.key: Invalid value: "": name part must be non-empty; spec.taint.key: Invalid ` +
				`value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must ` +
				"start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or " +
				"'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"a changed driver is valid", "spec.deviceSelector: null", "spec.deviceSelector.driver: a_b",
			`spec.deviceSelector.driver: Invalid value: "a_b": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with " +
				"an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
	})
}

func TestTaintRuleStatusRules(t *testing.T) {
	kindtest.New(t, "devicetaintrules.v1.resource.k8s.io", taintRule).UpdateStatus(kindtest.Rules{
		{"a condition is valid",
			`status.conditions: [{type: A, status: "True", reason: R, message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`,
			`status.conditions: [{type: A, status: Maybe, reason: R, message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`,
			`status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", ` +
				`"True", "Unknown"`},
		{"a condition has a reason",
			`status.conditions: [{type: A, status: "True", reason: R, message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`,
			`status.conditions: [{type: A, status: "True", reason: "", message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`, "status.conditions[0].reason: Required value"},
		{"at most eight conditions",
			"status.conditions: " +
				kindtest.List(8, `{type: A%d, status: "True", reason: R, message: "", lastTransitionTime: "2026-05-04T11:00:00Z"}`),
			"status.conditions: " +
				kindtest.List(9, `{type: A%d, status: "True", reason: R, message: "", lastTransitionTime: "2026-05-04T11:00:00Z"}`),
			"status.conditions: Too many: 9: must have at most 8 items"},
	})
}

func TestTaintRuleCreated(t *testing.T) {
	kindtest.New(t, "devicetaintrules.v1.resource.k8s.io", taintRule).Created(kindtest.Cases{
		{"a time is kept", "", "spec.taint.timeAdded: 2026-05-04T10:00:00Z; metadata.generation: 1"},
		{"a new rule has no status",
			`status.conditions: [{type: A, status: "True", reason: R, message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`, "status: {}"},
	})
}

func TestTaintRuleUpdated(t *testing.T) {
	kindtest.New(t, "devicetaintrules.v1.resource.k8s.io", taintRule).Updated(kindtest.Cases{
		{"the effect stays with its time", "spec.taint.value: v", "spec.taint.timeAdded: 2026-05-04T10:00:00Z"},
		{"a time of the client", `spec.taint.effect: NoExecute; spec.taint.timeAdded: "2026-05-04T10:30:00Z"`,
			"spec.taint.timeAdded: 2026-05-04T10:30:00Z"},
	})
}

func TestStoredEffectUpdated(t *testing.T) {
	k := kindtest.New(t, "devicetaintrules.v1.resource.k8s.io", taintRule).With(
		"spec.taint.effect: Other")
	k.Updated(kindtest.Cases{
		{"a stored effect that is unknown stays", "spec.taint.value: v", "spec.taint.effect: Other"},
	})
}

func TestTaintRuleStatusUpdated(t *testing.T) {
	kindtest.New(t, "devicetaintrules.v1.resource.k8s.io", taintRule).StatusUpdated(kindtest.Cases{
		{"the status alone",
			`spec.taint.key: z; status.conditions: [{type: A, status: "True", reason: R, message: ` +
				`"", lastTransitionTime: "2026-05-04T11:00:00Z"}]`,
			"spec.taint.key: k; status.conditions[0].type: A"},
	})
}

func TestTaintRuleGenerations(t *testing.T) {
	kindtest.New(t, "devicetaintrules.v1.resource.k8s.io", taintRule).Generations(kindtest.Cases{
		{"a write without a change", "", "1"},
		{"the spec", "spec.taint.key: l", "2"},
	})
}

func TestTaintRuleColumns(t *testing.T) {
	k := kindtest.New(t, "devicetaintrules.v1.resource.k8s.io", taintRule)
	k.Columns("Name|Key|Value|Effect|TimeAdded|Age", kindtest.Cases{
		{"a rule", "", "x|k||NoSchedule|120m|60m"},
		{"with a value", "spec.taint.value: v", "x|k|v|NoSchedule|120m|60m"},
	})
}
