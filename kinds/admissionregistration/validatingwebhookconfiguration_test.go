package admissionregistration_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const validatingWebhooks = `webhooks:
- name: a.b.c
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {url: "https://a/x"}
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]`

func TestValidatingWebhooksRules(t *testing.T) {
	k := kindtest.New(t, "validatingwebhookconfigurations.v1.admissionregistration.k8s.io", validatingWebhooks)
	k.Create(kindtest.Rules{
		{"the name of a webhook has three labels", "webhooks[0].name: a.b.c", "webhooks[0].name: a.b",
			`webhooks[0].name: Invalid value: "a.b": should be a domain with at least three segments ` +
				"separated by dots"},
		{"a webhook has a name", "webhooks[0].name: a.b.c", `webhooks[0].name: ""`,
			"webhooks[0].name: Required value"},
		{"names of webhooks differ",
			"webhooks[1]: {name: d.b.c, sideEffects: None, admissionReviewVersions: [v1], " +
				`clientConfig: {url: "https://a/x"}}`,
			"webhooks[1]: {name: a.b.c, sideEffects: None, admissionReviewVersions: [v1], " +
				`clientConfig: {url: "https://a/x"}}`, `webhooks[1].name: Duplicate value: "a.b.c"`},
		{"side effects are required", "webhooks[0].sideEffects: None", "webhooks[0].sideEffects: null",
			"webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun"},
		{"a dry run has no side effects", "webhooks[0].sideEffects: NoneOnDryRun", "webhooks[0].sideEffects: Some",
			`webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"`},
		{"a timeout is at least a second", "webhooks[0].timeoutSeconds: 1", "webhooks[0].timeoutSeconds: 0",
			"webhooks[0].timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds"},
		{"a timeout is at most 30 seconds", "webhooks[0].timeoutSeconds: 30", "webhooks[0].timeoutSeconds: 31",
			"webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds"},
		{"failure policies are known", "webhooks[0].failurePolicy: Ignore", "webhooks[0].failurePolicy: Other",
			`webhooks[0].failurePolicy: Unsupported value: "Other": supported values: "Fail", "Ignore"`},
		{"match policies are known", "webhooks[0].matchPolicy: Exact", "webhooks[0].matchPolicy: Other",
			`webhooks[0].matchPolicy: Unsupported value: "Other": supported values: "Equivalent", "Exact"`},
		{"a selector of namespaces is valid", "webhooks[0].namespaceSelector: {matchLabels: {a: b}}",
			"webhooks[0].namespaceSelector: {matchLabels: {a: b c}}",
			`webhooks[0].namespaceSelector.matchLabels: Invalid value: "b c": a valid label must be ` +
				"an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start " +
				"and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', " +
				"regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"a selector of objects is valid",
			"webhooks[0].objectSelector: {matchExpressions: [{key: a, operator: Exists}]}",
			"webhooks[0].objectSelector: {matchExpressions: [{key: a, operator: In}]}",
			"webhooks[0].objectSelector.matchExpressions[0].values: Required value: must be " +
				"specified when `operator` is 'In' or 'NotIn'"},
		{"review versions are required", "webhooks[0].admissionReviewVersions: [v1beta1]",
			"webhooks[0].admissionReviewVersions: []",
			"webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1"},
		{"a review version is known", "webhooks[0].admissionReviewVersions: [v9, v1]",
			"webhooks[0].admissionReviewVersions: [v9]",
			`webhooks[0].admissionReviewVersions: Invalid value: ["v9"]: must include at least one ` +
				"of v1, v1beta1"},
		{"review versions differ", "webhooks[0].admissionReviewVersions: [v1, v1beta1]",
			"webhooks[0].admissionReviewVersions: [v1, v1]",
			`webhooks[0].admissionReviewVersions[1]: Invalid value: "v1": duplicate version`},
		{"a review version is a label", "webhooks[0].admissionReviewVersions: [v1, a]",
			"webhooks[0].admissionReviewVersions: [v1, 1a]",
			`webhooks[0].admissionReviewVersions[1]: Invalid value: "1a": a DNS-1035 label must ` +
				"consist of lower case alphanumeric characters or '-', start with an alphabetic " +
				"character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex " +
				"used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"},
		{"a name is not one of the manifests", "metadata.name: a.static", "metadata.name: a.static.k8s.io",
			`metadata.name: Invalid value: "a.static.k8s.io": names ending with ".static.k8s.io" are ` +
				"reserved for static manifest-based configurations and cannot be managed via the API"},
		{"a name is a subdomain", "metadata.name: a.b", "metadata.name: a_b",
			`metadata.name: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
	})
}

func TestWebhookClientRules(t *testing.T) {
	k := kindtest.New(t, "validatingwebhookconfigurations.v1.admissionregistration.k8s.io", validatingWebhooks)
	k.Create(kindtest.Rules{
		{"a webhook has a URL or a service", "webhooks[0].clientConfig: {service: {name: a, namespace: b}}",
			"webhooks[0].clientConfig: {}",
			"webhooks[0].clientConfig: Required value: exactly one of url or service is required"},
		{"a webhook with a URL has no service", `webhooks[0].clientConfig: {url: "https://a"}`,
			"webhooks[0].clientConfig.service: {name: a, namespace: b}",
			"webhooks[0].clientConfig: Required value: exactly one of url or service is required"},
		{"a URL parses", "webhooks[0].clientConfig.url: https://a", `webhooks[0].clientConfig.url: "https://a:b"`,
			"webhooks[0].clientConfig.url: Required value: url must be a valid URL: parse " +
				`"https://a:b": invalid port ":b" after host; desired format: https://host[/path]`},
		{"a URL is one of HTTPS", "webhooks[0].clientConfig.url: https://a", "webhooks[0].clientConfig.url: http://a",
			`webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL ` +
				"scheme; desired format: https://host[/path]"},
		{"a URL has a host", "webhooks[0].clientConfig.url: https://a", "webhooks[0].clientConfig.url: https:///a",
			`webhooks[0].clientConfig.url: Invalid value: "": host must be specified; desired ` +
				"format: https://host[/path]"},
		{"a URL has no user", "webhooks[0].clientConfig.url: https://a",
			"webhooks[0].clientConfig.url: https://u:p@a",
			`webhooks[0].clientConfig.url: Invalid value: "u:p": user information is not permitted in the URL`},
		{"a URL has no fragment", "webhooks[0].clientConfig.url: https://a",
			`webhooks[0].clientConfig.url: "https://a#b"`,
			`webhooks[0].clientConfig.url: Invalid value: "b": fragments are not permitted in the URL`},
		{"a URL has no query", "webhooks[0].clientConfig.url: https://a", "webhooks[0].clientConfig.url: https://a?b",
			`webhooks[0].clientConfig.url: Invalid value: "b": query parameters are not permitted in the URL`},
		{"a service has a name", "webhooks[0].clientConfig: {service: {name: a, namespace: b}}",
			"webhooks[0].clientConfig: {service: {namespace: b}}",
			"webhooks[0].clientConfig.service.namespace: Required value"},
		{"a service has a namespace", "webhooks[0].clientConfig: {service: {name: a, namespace: b}}",
			"webhooks[0].clientConfig: {service: {name: a}}",
			"webhooks[0].clientConfig.service.name: Required value"},
		{"a port is a number of 16 bits", "webhooks[0].clientConfig: {service: {name: a, namespace: b, port: 65535}}",
			"webhooks[0].clientConfig: {service: {name: a, namespace: b, port: 65536}}",
			"webhooks[0].clientConfig.service.port: Invalid value: 65536: port is not valid: must be " +
				"between 1 and 65535, inclusive"},
		{"a path begins with a slash", "webhooks[0].clientConfig: {service: {name: a, namespace: b, path: /x/y}}",
			"webhooks[0].clientConfig: {service: {name: a, namespace: b, path: x/y}}",
			`webhooks[0].clientConfig.service.path: Invalid value: "x/y": must start with a '/'; ` +
				`webhooks[0].clientConfig.service.path: Invalid value: "x/y": segment[0] may not be empty`},
		{"a path has no empty segment", "webhooks[0].clientConfig: {service: {name: a, namespace: b, path: /}}",
			"webhooks[0].clientConfig: {service: {name: a, namespace: b, path: /x//y}}",
			`webhooks[0].clientConfig.service.path: Invalid value: "/x//y": segment[1] may not be empty`},
		{"two slashes are an empty segment",
			"webhooks[0].clientConfig: {service: {name: a, namespace: b, path: /x/}}",
			"webhooks[0].clientConfig: {service: {name: a, namespace: b, path: //}}",
			`webhooks[0].clientConfig.service.path: Invalid value: "//": segment[0] may not be empty`},
		{"a segment is a subdomain", "webhooks[0].clientConfig: {service: {name: a, namespace: b, path: /x.y}}",
			"webhooks[0].clientConfig: {service: {name: a, namespace: b, path: /x_y}}",
			`webhooks[0].clientConfig.service.path: Invalid value: "/x_y": segment[0]: a lowercase ` +
				"RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and " +
				"must start and end with an alphanumeric character (e.g. 'example.com', regex used for " +
				`validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"the first character is skipped even if it is no slash",
			"webhooks[0].clientConfig: {service: {name: a, namespace: b, path: /x}}",
			"webhooks[0].clientConfig: {service: {name: a, namespace: b, path: x//y}}",
			`webhooks[0].clientConfig.service.path: Invalid value: "x//y": must start with a '/'; ` +
				`webhooks[0].clientConfig.service.path: Invalid value: "x//y": segment[0] may not be ` +
				`empty; webhooks[0].clientConfig.service.path: Invalid value: "x//y": segment[1] may not be empty`},
	})
}

func TestWebhookRuleRules(t *testing.T) {
	k := kindtest.New(t, "validatingwebhookconfigurations.v1.admissionregistration.k8s.io", validatingWebhooks)
	k.Create(kindtest.Rules{
		{"a rule has operations", "webhooks[0].rules[0].operations: [CREATE, UPDATE, DELETE, CONNECT]",
			"webhooks[0].rules[0].operations: []", "webhooks[0].rules[0].operations: Required value"},
		{"operations are known", "webhooks[0].rules[0].operations: ['*']", "webhooks[0].rules[0].operations: [PATCH]",
			`webhooks[0].rules[0].operations[0]: Unsupported value: "PATCH": supported values: "*", ` +
				`"CONNECT", "CREATE", "DELETE", "UPDATE"`},
		{"all operations have no other", "webhooks[0].rules[0].operations: ['*']",
			"webhooks[0].rules[0].operations: ['*', CREATE]",
			`webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: if '*' is present, must ` +
				"not specify other operations"},
		{"a rule has groups", "webhooks[0].rules[0].apiGroups: [a, b]", "webhooks[0].rules[0].apiGroups: []",
			"webhooks[0].rules[0].apiGroups: Required value"},
		{"all groups have no other", "webhooks[0].rules[0].apiGroups: ['*']",
			"webhooks[0].rules[0].apiGroups: ['*', a]",
			`webhooks[0].rules[0].apiGroups: Invalid value: ["*","a"]: if '*' is present, must not ` +
				"specify other API groups"},
		{"a rule has versions", "webhooks[0].rules[0].apiVersions: [v1, v2]", "webhooks[0].rules[0].apiVersions: []",
			"webhooks[0].rules[0].apiVersions: Required value"},
		{"all versions have no other", "webhooks[0].rules[0].apiVersions: ['*']",
			"webhooks[0].rules[0].apiVersions: ['*', v1]",
			`webhooks[0].rules[0].apiVersions: Invalid value: ["*","v1"]: if '*' is present, must ` +
				"not specify other API versions"},
		{"a version is not empty", "webhooks[0].rules[0].apiVersions: [v1]", `webhooks[0].rules[0].apiVersions: [""]`,
			"webhooks[0].rules[0].apiVersions[0]: Required value"},
		{"a rule has resources", "webhooks[0].rules[0].resources: [pods, nodes/status]",
			"webhooks[0].rules[0].resources: []", "webhooks[0].rules[0].resources: Required value"},
		{"a resource is not empty", "webhooks[0].rules[0].resources: [pods]", `webhooks[0].rules[0].resources: [""]`,
			"webhooks[0].rules[0].resources[0]: Required value"},
		{"all resources have no other", "webhooks[0].rules[0].resources: ['*', pods/log]",
			"webhooks[0].rules[0].resources: ['*', pods]",
			`webhooks[0].rules[0].resources: Invalid value: ["*","pods"]: if '*' is present, must ` +
				"not specify other resources without subresources"},
		{"all subresources of a resource have no other", "webhooks[0].rules[0].resources: [pods, pods/*]",
			"webhooks[0].rules[0].resources: [pods/*, pods/log]",
			`webhooks[0].rules[0].resources[1]: Invalid value: "pods/log": if 'pods/*' is present, ` +
				"must not specify pods/log"},
		{"a subresource of all resources has no other", "webhooks[0].rules[0].resources: ['*/status']",
			"webhooks[0].rules[0].resources: ['*/status', pods/status]",
			`webhooks[0].rules[0].resources[1]: Invalid value: "pods/status": if '*/status' is ` +
				"present, must not specify pods/status"},
		{"all subresources of all resources have no other", "webhooks[0].rules[0].resources: ['*/*']",
			"webhooks[0].rules[0].resources: ['*/*', pods]",
			`webhooks[0].rules[0].resources: Invalid value: ["*/*","pods"]: if '*/*' is present, ` +
				"must not specify other resources"},
		{"scopes are known", "webhooks[0].rules[0].scope: Namespaced", "webhooks[0].rules[0].scope: Other",
			`webhooks[0].rules[0].scope: Unsupported value: "Other": supported values: "*", ` +
				`"Cluster", "Namespaced"`},
	})
}

func TestWebhookConditionRules(t *testing.T) {
	k := kindtest.New(t, "validatingwebhookconfigurations.v1.admissionregistration.k8s.io", validatingWebhooks)
	k.Create(kindtest.Rules{
		{"a condition has a name", `webhooks[0].matchConditions: [{name: a.b/c, expression: "true"}]`,
			`webhooks[0].matchConditions: [{name: "", expression: "true"}]`,
			"webhooks[0].matchConditions[0].name: Required value"},
		{"the name of a condition is a qualified name",
			`webhooks[0].matchConditions: [{name: a.b/c, expression: "true"}]`,
			`webhooks[0].matchConditions: [{name: a b, expression: "true"}]`,
			`webhooks[0].matchConditions[0].name: Invalid value: "a b": name part must consist of ` +
				"alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"names of conditions differ",
			`webhooks[0].matchConditions: [{name: a, expression: "true"}, {name: b, expression: "true"}]`,
			`webhooks[0].matchConditions: [{name: a, expression: "true"}, {name: a, expression: "true"}]`,
			`webhooks[0].matchConditions[1].name: Duplicate value: "a"`},
		{"a condition has an expression", "webhooks[0].matchConditions: [{name: a, expression: object.a == 1}]",
			`webhooks[0].matchConditions: [{name: a, expression: " "}]`,
			"webhooks[0].matchConditions[0].expression: Required value"},
		{"an expression is a condition",
			`webhooks[0].matchConditions: [{name: a, expression: request.operation == "CREATE"}]`,
			`webhooks[0].matchConditions: [{name: a, expression: "1"}]`,
			`webhooks[0].matchConditions[0].expression: Invalid value: "1": must evaluate to bool but got int`},
		{"an expression compiles", "webhooks[0].matchConditions: [{name: a, expression: oldObject == null}]",
			"webhooks[0].matchConditions: [{name: a, expression: params == null}]",
			`webhooks[0].matchConditions[0].expression: Invalid value: "params == null": compilation ` +
				"failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | " +
				"params == null\n | ^"},
		{"at most 64 conditions",
			"webhooks[0].matchConditions: " + kindtest.List(64, `{name: a%d, expression: "true"}`),
			"webhooks[0].matchConditions: " + kindtest.List(65, `{name: a%d, expression: "true"}`),
			"webhooks[0].matchConditions: Too many: 65: must have at most 64 items"},
	})
}

func TestValidatingWebhooksUpdateRules(t *testing.T) {
	k := kindtest.New(t, "validatingwebhookconfigurations.v1.admissionregistration.k8s.io", validatingWebhooks)
	k.Update(kindtest.Rules{
		{"a timeout is at most 30 seconds", "webhooks[0].timeoutSeconds: 5", "webhooks[0].timeoutSeconds: 31",
			"webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds"},
		{"new side effects are none", "webhooks[0].sideEffects: NoneOnDryRun", "webhooks[0].sideEffects: Unknown",
			`webhooks[0].sideEffects: Unsupported value: "Unknown": supported values: "None", "NoneOnDryRun"`},
		{"a new condition compiles", `webhooks[0].matchConditions: [{name: a, expression: "true"}]`,
			`webhooks[0].matchConditions: [{name: a, expression: "tru"}]`,
			`webhooks[0].matchConditions[0].expression: Invalid value: "tru": compilation failed: ` +
				"ERROR: <input>:1:1: undeclared reference to 'tru' (in container '')\n | tru\n | ^"},
	})
}

func TestStoredViolationsUpdated(t *testing.T) {
	k := kindtest.New(t, "validatingwebhookconfigurations.v1.admissionregistration.k8s.io", validatingWebhooks).With(
		"webhooks[0].sideEffects: Some; webhooks[0].admissionReviewVersions: [v9]; " +
			"webhooks[0].namespaceSelector: {matchExpressions: [{key: a, operator: In, values: [b c]}]}; " +
			"webhooks[0].matchConditions: [{name: a, expression: nosuch}]; webhooks[1]: {name: a.b.c, " +
			`sideEffects: None, admissionReviewVersions: [v1], clientConfig: {url: "https://a/x"}}`)
	k.Updated(kindtest.Cases{
		{"stored violations of newer rules are no errors", "webhooks[0].timeoutSeconds: 5",
			"webhooks[0].timeoutSeconds: 5; webhooks[0].sideEffects: Some; " +
				`webhooks[0].admissionReviewVersions: ["v9"]; webhooks[1].name: a.b.c`},
	})
}

func TestChangedConditionUpdateRules(t *testing.T) {
	k := kindtest.New(t, "validatingwebhookconfigurations.v1.admissionregistration.k8s.io", validatingWebhooks).With(
		"webhooks[0].matchConditions: [{name: a, expression: nosuch}]")
	k.Update(kindtest.Rules{
		{"a changed condition compiles", "webhooks[0].timeoutSeconds: 5", "webhooks[0].matchConditions[0].name: b",
			`webhooks[0].matchConditions[0].expression: Invalid value: "nosuch": compilation failed: ` +
				"ERROR: <input>:1:1: undeclared reference to 'nosuch' (in container '')\n | nosuch\n | ^"},
	})
}

func TestValidatingWebhooksCreated(t *testing.T) {
	k := kindtest.New(t, "validatingwebhookconfigurations.v1.admissionregistration.k8s.io", validatingWebhooks)
	k.Created(kindtest.Cases{
		{"defaults", "",
			"webhooks[0].failurePolicy: Fail; webhooks[0].matchPolicy: Equivalent; " +
				"webhooks[0].timeoutSeconds: 10; webhooks[0].namespaceSelector: {}; " +
				`webhooks[0].objectSelector: {}; webhooks[0].rules[0].scope: "*"; metadata.generation: 1`},
		{"the port of a service", "webhooks[0].clientConfig: {service: {name: a, namespace: b}}",
			"webhooks[0].clientConfig.service.port: 443"},
	})
}

func TestValidatingWebhooksGenerations(t *testing.T) {
	k := kindtest.New(t, "validatingwebhookconfigurations.v1.admissionregistration.k8s.io", validatingWebhooks)
	k.Generations(kindtest.Cases{
		{"a write without a change", "", "1"},
		{"labels are no part of the webhooks", "metadata.labels: {a: b}", "1"},
		{"the webhooks", "webhooks[0].timeoutSeconds: 5", "2"},
		{"an empty list of labels in a selector", "webhooks[0].namespaceSelector: {matchLabels: {}}", "2"},
	})
}

func TestValidatingWebhooksWarnings(t *testing.T) {
	k := kindtest.New(t, "validatingwebhookconfigurations.v1.admissionregistration.k8s.io", validatingWebhooks)
	k.Warnings(kindtest.Cases{
		{"a rule for all resources",
			"webhooks[0].rules: [{operations: [CREATE], apiGroups: ['*'], apiVersions: [v1], " +
				"resources: [tokenreviews]}]", ""},
		{"a rule for pods", "", ""},
	})
}

func TestStoredStaticNameWarnings(t *testing.T) {
	k := kindtest.New(t, "validatingwebhookconfigurations.v1.admissionregistration.k8s.io", validatingWebhooks).With(
		"metadata.name: a.static.k8s.io")
	k.UpdateWarnings(kindtest.Cases{
		{"a stored object has a name of the manifests", "metadata.labels: {a: b}",
			`metadata.name: names ending with ".static.k8s.io" are reserved for static ` +
				"manifest-based configurations and cannot be managed via the API"},
	})
}

func TestValidatingWebhooksColumns(t *testing.T) {
	k := kindtest.New(t, "validatingwebhookconfigurations.v1.admissionregistration.k8s.io", validatingWebhooks)
	k.Columns("Name|Webhooks|Age", kindtest.Cases{
		{"one webhook", "", "x|1|60m"},
		{"none", "webhooks: []", "x|0|60m"},
	})
}

func TestExemptReviewWarnings(t *testing.T) {
	k := kindtest.New(t, "validatingwebhookconfigurations.v1.admissionregistration.k8s.io", validatingWebhooks, "ExcludeAdmissionWebhookVirtualResources")
	k.Warnings(kindtest.Cases{
		{"no webhook gets reviews of tokens",
			"webhooks[0].rules: [{operations: [CREATE], apiGroups: [authentication.k8s.io, apps], " +
				"apiVersions: [v1], resources: [tokenreviews, deployments, tokenreviews]}]",
			"webhooks[0].rules[0]: tokenreviews.authentication.k8s.io is excluded from admission " +
				"webhooks; this rule will have no effect"},
		{"no webhook gets reviews of access",
			"webhooks[0].rules: [{operations: [CREATE], apiGroups: [authorization.k8s.io], " +
				"apiVersions: [v1], resources: [subjectaccessreviews, selfsubjectrulesreviews]}]",
			"webhooks[0].rules[0]: subjectaccessreviews.authorization.k8s.io is excluded from " +
				"admission webhooks; this rule will have no effect; webhooks[0].rules[0]: " +
				"selfsubjectrulesreviews.authorization.k8s.io is excluded from admission webhooks; this " +
				"rule will have no effect"},
		{"a rule for all groups is for others",
			"webhooks[0].rules: [{operations: [CREATE], apiGroups: ['*'], apiVersions: [v1], " +
				"resources: [tokenreviews]}]", ""},
	})
}

func TestStaticNameWarnings(t *testing.T) {
	k := kindtest.New(t, "validatingwebhookconfigurations.v1.admissionregistration.k8s.io", validatingWebhooks, "-ManifestBasedAdmissionControlConfig")
	k.Warnings(kindtest.Cases{
		{"a name of the manifests", "metadata.name: a.static.k8s.io",
			`metadata.name: names ending with ".static.k8s.io" are reserved for static ` +
				"manifest-based configurations and cannot be managed via the API"},
		{"another name", "metadata.name: a.k8s.io", ""},
	})
}
