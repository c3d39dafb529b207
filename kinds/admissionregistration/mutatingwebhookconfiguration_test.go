package admissionregistration_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const mutatingWebhooks = `webhooks:
- name: a.b.c
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {service: {name: a, namespace: b}}`

func TestMutatingWebhooksRules(t *testing.T) {
	k := kindtest.New(t, "mutatingwebhookconfigurations.v1.admissionregistration.k8s.io", mutatingWebhooks)
	k.Create(kindtest.Rules{
		{"the name of a webhook has three labels", "webhooks[0].name: a.b.c", "webhooks[0].name: a.b",
			`webhooks[0].name: Invalid value: "a.b": should be a domain with at least three segments ` +
				"separated by dots"},
		{"reinvocation policies are known", "webhooks[0].reinvocationPolicy: IfNeeded",
			"webhooks[0].reinvocationPolicy: Always",
			`webhooks[0].reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never"`},
		{"a dry run has no side effects", "webhooks[0].sideEffects: NoneOnDryRun", "webhooks[0].sideEffects: Unknown",
			`webhooks[0].sideEffects: Unsupported value: "Unknown": supported values: "None", "NoneOnDryRun"`},
		{"a path has no empty segment", "webhooks[0].clientConfig.service.path: /a/b",
			"webhooks[0].clientConfig.service.path: /a//b",
			`webhooks[0].clientConfig.service.path: Invalid value: "/a//b": segment[1] may not be empty`},
		{"a rule has operations",
			`webhooks[0].rules: [{operations: [DELETE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]`,
			`webhooks[0].rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods]}]`,
			"webhooks[0].rules[0].operations: Required value"},
		{"a condition compiles", `webhooks[0].matchConditions: [{name: a, expression: "true"}]`,
			`webhooks[0].matchConditions: [{name: a, expression: "tru"}]`,
			`webhooks[0].matchConditions[0].expression: Invalid value: "tru": compilation failed: ` +
				"ERROR: <input>:1:1: undeclared reference to 'tru' (in container '')\n | tru\n | ^"},
	})
}

func TestMutatingWebhooksUpdateRules(t *testing.T) {
	k := kindtest.New(t, "mutatingwebhookconfigurations.v1.admissionregistration.k8s.io", mutatingWebhooks)
	k.Update(kindtest.Rules{
		{"a timeout is at most 30 seconds", "webhooks[0].timeoutSeconds: 5", "webhooks[0].timeoutSeconds: 31",
			"webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds"},
	})
}

func TestMutatingWebhooksCreated(t *testing.T) {
	k := kindtest.New(t, "mutatingwebhookconfigurations.v1.admissionregistration.k8s.io", mutatingWebhooks)
	k.Created(kindtest.Cases{
		{"defaults", "",
			"webhooks[0].failurePolicy: Fail; webhooks[0].matchPolicy: Equivalent; " +
				"webhooks[0].timeoutSeconds: 10; webhooks[0].reinvocationPolicy: Never; " +
				"webhooks[0].clientConfig.service.port: 443"},
		{"a rule has a scope",
			`webhooks[0].rules: [{operations: [DELETE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]`,
			`webhooks[0].rules[0].scope: "*"`},
	})
}

func TestMutatingWebhooksGenerations(t *testing.T) {
	k := kindtest.New(t, "mutatingwebhookconfigurations.v1.admissionregistration.k8s.io", mutatingWebhooks)
	k.Generations(kindtest.Cases{
		{"a write without a change", "", "1"},
		{"the webhooks", "webhooks[0].timeoutSeconds: 5", "2"},
	})
}

func TestMutatingWebhooksColumns(t *testing.T) {
	k := kindtest.New(t, "mutatingwebhookconfigurations.v1.admissionregistration.k8s.io", mutatingWebhooks)
	k.Columns("Name|Webhooks|Age", kindtest.Cases{
		{"one webhook", "", "x|1|60m"},
	})
}
