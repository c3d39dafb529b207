package admissionregistration_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

// The function includes, which these tests call, is one of 1.37. Unless no server of 1.36 reads the objects, only
// stored expressions may call it, and only where the stored object had them.

func TestNewExpressionRules(t *testing.T) {
	k := kindtest.New(t, "validatingadmissionpolicies.v1.admissionregistration.k8s.io", validatingPolicy)
	k.Create(kindtest.Rules{
		{"a new expression calls a function that older servers have", `spec.validations[0].expression: "[1] == [1]"`,
			`spec.validations[0].expression: "[1].includes(1)"`,
			`spec.validations[0].expression: Invalid value: "[1].includes(1)": compilation failed: ` +
				"ERROR: <input>:1:13: undeclared reference to 'includes' (in container '')\n | " +
				"[1].includes(1)\n | ............^"},
	})
}

func TestStoredValidationRules(t *testing.T) {
	k := kindtest.New(t, "validatingadmissionpolicies.v1.admissionregistration.k8s.io", validatingPolicy).With(
		`spec.validations: [{expression: "[1].includes(1)"}]`)
	k.Update(kindtest.Rules{
		{"a stored validation is no condition", `spec.validations[1].expression: "true"`,
			`spec.matchConditions: [{name: c, expression: "[1].includes(1)"}]`,
			`spec.matchConditions[0].expression: Invalid value: "[1].includes(1)": compilation ` +
				"failed: ERROR: <input>:1:13: undeclared reference to 'includes' (in container '')\n | " +
				"[1].includes(1)\n | ............^"},
	})
}

func TestStoredValidationUpdated(t *testing.T) {
	k := kindtest.New(t, "validatingadmissionpolicies.v1.admissionregistration.k8s.io", validatingPolicy).With(
		`spec.validations: [{expression: "[1].includes(1)"}]`)
	k.Updated(kindtest.Cases{
		{"a stored validation may be a variable", `spec.variables: [{name: v, expression: "[1].includes(1)"}]`,
			"spec.variables[0].name: v"},
	})
}

func TestStoredAnnotationUpdated(t *testing.T) {
	k := kindtest.New(t, "validatingadmissionpolicies.v1.admissionregistration.k8s.io", validatingPolicy).With(
		`spec.auditAnnotations: [{key: k, valueExpression: " string([1].includes(1))"}]`)
	k.Updated(kindtest.Cases{
		{"a stored annotation stays", "spec.failurePolicy: Ignore", "spec.auditAnnotations[0].key: k"},
	})
}

func TestStoredAnnotationRules(t *testing.T) {
	k := kindtest.New(t, "validatingadmissionpolicies.v1.admissionregistration.k8s.io", validatingPolicy).With(
		`spec.auditAnnotations: [{key: k, valueExpression: " string([1].includes(1))"}]`)
	k.Update(kindtest.Rules{
		{"a stored annotation is no message", "spec.failurePolicy: Ignore",
			"spec.validations[0].messageExpression: string([1].includes(1))",
			`spec.validations[0].messageExpression: Invalid value: "string([1].includes(1))": ` +
				"compilation failed: ERROR: <input>:1:20: undeclared reference to 'includes' (in " +
				"container '')\n | string([1].includes(1))\n | ...................^"},
	})
}

func TestNewestExpressionCreated(t *testing.T) {
	k := kindtest.New(t, "validatingadmissionpolicies.v1.admissionregistration.k8s.io", validatingPolicy, "beside=1.37")
	k.Created(kindtest.Cases{
		{"a new expression without older servers", `spec.validations[0].expression: "[1].includes(1)"`,
			`spec.validations[0].expression: "[1].includes(1)"`},
	})
}

func TestNewMutationRules(t *testing.T) {
	k := kindtest.New(t, "mutatingadmissionpolicies.v1.admissionregistration.k8s.io", mutatingPolicy)
	k.Create(kindtest.Rules{
		{"a new mutation calls a function that older servers have",
			`spec.mutations[0].applyConfiguration.expression: "[1] == [1] ? Object{} : Object{}"`,
			`spec.mutations[0].applyConfiguration.expression: "[1].includes(1) ? Object{} : Object{}"`,
			`spec.mutations[0].applyConfiguration.expression: Invalid value: "[1].includes(1) ? ` +
				`Object{} : Object{}": compilation failed: ERROR: <input>:1:13: undeclared reference to ` +
				"'includes' (in container '')\n | [1].includes(1) ? Object{} : Object{}\n | ............^"},
	})
}

func TestStoredMutationUpdated(t *testing.T) {
	k := kindtest.New(t, "mutatingadmissionpolicies.v1.admissionregistration.k8s.io", mutatingPolicy).With(
		`spec.mutations[0].applyConfiguration.expression: " [1].includes(1) ? Object{} : Object{}"`)
	k.Updated(kindtest.Cases{
		{"a stored mutation stays", "spec.failurePolicy: Ignore", "spec.failurePolicy: Ignore"},
	})
}

func TestStoredPatchRules(t *testing.T) {
	k := kindtest.New(t, "mutatingadmissionpolicies.v1.admissionregistration.k8s.io", mutatingPolicy).With(
		`spec.mutations[0]: {patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: 'test', path: ` +
			`'/a', value: [1].includes(1)}]"}}`)
	k.Update(kindtest.Rules{
		{"a stored patch is like a new one",
			`spec.mutations[0].jsonPatch.expression: "[JSONPatch{op: 'test', path: '/a'}]"`,
			"spec.failurePolicy: Ignore",
			`spec.mutations[0].jsonPatch.expression: Invalid value: "[JSONPatch{op: 'test', path: ` +
				`'/a', value: [1].includes(1)}]": compilation failed: ERROR: <input>:1:55: undeclared ` +
				"reference to 'includes' (in container '')\n | [JSONPatch{op: 'test', path: '/a', value: " +
				"[1].includes(1)}]\n | ......................................................^"},
	})
}

func TestStoredConditionRules(t *testing.T) {
	k := kindtest.New(t, "mutatingadmissionpolicies.v1.admissionregistration.k8s.io", mutatingPolicy).With(
		`spec.matchConditions: [{name: c, expression: "[1].includes(1)"}]`)
	k.Update(kindtest.Rules{
		{"a stored condition is no variable", "spec.failurePolicy: Ignore",
			`spec.variables: [{name: v, expression: "[1].includes(1)"}]`,
			`spec.variables[0].expression: Invalid value: "[1].includes(1)": compilation failed: ` +
				"ERROR: <input>:1:13: undeclared reference to 'includes' (in container '')\n | " +
				"[1].includes(1)\n | ............^"},
	})
}

func TestNewestMutationCreated(t *testing.T) {
	k := kindtest.New(t, "mutatingadmissionpolicies.v1.admissionregistration.k8s.io", mutatingPolicy, "beside=1.37")
	k.Created(kindtest.Cases{
		{"a new mutation without older servers",
			`spec.mutations[0].applyConfiguration.expression: "[1].includes(1) ? Object{} : Object{}"`,
			"spec.failurePolicy: Fail"},
	})
}

func TestNewWebhookConditionRules(t *testing.T) {
	k := kindtest.New(t, "validatingwebhookconfigurations.v1.admissionregistration.k8s.io", validatingWebhooks)
	k.Create(kindtest.Rules{
		{"a new condition calls a function that older servers have",
			`webhooks[0].matchConditions: [{name: c, expression: "[1] == [1]"}]`,
			`webhooks[0].matchConditions: [{name: c, expression: "[1].includes(1)"}]`,
			`webhooks[0].matchConditions[0].expression: Invalid value: "[1].includes(1)": ` +
				"compilation failed: ERROR: <input>:1:13: undeclared reference to 'includes' (in " +
				"container '')\n | [1].includes(1)\n | ............^"},
	})
}

func TestStoredWebhookConditionUpdated(t *testing.T) {
	k := kindtest.New(t, "validatingwebhookconfigurations.v1.admissionregistration.k8s.io", validatingWebhooks).With(
		`webhooks[0].matchConditions: [{name: c, expression: "[1].includes(1)"}]`)
	k.Updated(kindtest.Cases{
		{"a stored condition stays", `webhooks[0].matchConditions[1]: {name: d, expression: "true"}`,
			"webhooks[0].matchConditions[1].name: d"},
	})
}

func TestNewestConditionCreated(t *testing.T) {
	k := kindtest.New(t, "mutatingwebhookconfigurations.v1.admissionregistration.k8s.io", mutatingWebhooks, "beside=1.37")
	k.Created(kindtest.Cases{
		{"a new condition without older servers",
			`webhooks[0].matchConditions: [{name: c, expression: "[1].includes(1)"}]`,
			"webhooks[0].matchConditions[0].name: c"},
	})
}
