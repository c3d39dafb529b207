package admissionregistration_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const validatingPolicy = `spec:
  matchConstraints: {resourceRules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]}
  validations: [{expression: object.metadata.name == 'a'}]`

func TestValidatingPolicyTargetRules(t *testing.T) {
	k := kindtest.New(t, "validatingadmissionpolicies.v1.admissionregistration.k8s.io", validatingPolicy)
	k.Create(kindtest.Rules{
		{"a policy matches resources", "spec.matchConstraints.namespaceSelector: {matchLabels: {a: b}}",
			"spec.matchConstraints: null", "spec.matchConstraints: Required value"},
		{"a policy has a rule of resources",
			"spec.matchConstraints.excludeResourceRules: [{operations: [CREATE], apiGroups: [a], " +
				"apiVersions: [v1], resources: [b]}]", "spec.matchConstraints.resourceRules: []",
			"spec.matchConstraints.resourceRules: Required value"},
		{"a rule of resources has operations", "spec.matchConstraints.resourceRules[0].operations: ['*']",
			"spec.matchConstraints.resourceRules[0].operations: []",
			"spec.matchConstraints.resourceRules[0].operations: Required value"},
		{"an excluded rule has versions",
			"spec.matchConstraints.excludeResourceRules: [{operations: [CREATE], apiGroups: [a], " +
				"apiVersions: [v1], resources: [b]}]",
			"spec.matchConstraints.excludeResourceRules: [{operations: [CREATE], apiGroups: [a], " +
				"resources: [b]}]", "spec.matchConstraints.excludeResourceRules[0].apiVersions: Required value"},
		{"the name of a resource is a path segment", "spec.matchConstraints.resourceRules[0].resourceNames: [a, b]",
			"spec.matchConstraints.resourceRules[0].resourceNames: [a/b]",
			`spec.matchConstraints.resourceRules[0].resourceNames[0]: Invalid value: "a/b": may not contain '/'`},
		{"names of resources differ", "spec.matchConstraints.resourceRules[0].resourceNames: [a, b]",
			"spec.matchConstraints.resourceRules[0].resourceNames: [a, a]",
			`spec.matchConstraints.resourceRules[0].resourceNames[1]: Duplicate value: "a"`},
		{"match policies are known", "spec.matchConstraints.matchPolicy: Exact",
			"spec.matchConstraints.matchPolicy: Other",
			`spec.matchConstraints.matchPolicy: Unsupported value: "Other": supported values: ` +
				`"Equivalent", "Exact"`},
		{"a selector of namespaces is valid", "spec.matchConstraints.namespaceSelector: {matchLabels: {a: b}}",
			"spec.matchConstraints.namespaceSelector: {matchLabels: {a: b c}}",
			`spec.matchConstraints.namespaceSelector.matchLabels: Invalid value: "b c": a valid ` +
				"label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', " +
				"and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  " +
				"or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"a selector of objects is valid", "spec.matchConstraints.objectSelector: {matchLabels: {a: b}}",
			"spec.matchConstraints.objectSelector: {matchLabels: {a: b c}}",
			`spec.matchConstraints.objectSelector.matchLabels: Invalid value: "b c": a valid label ` +
				"must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and " +
				"must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or " +
				"'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"failure policies are known", "spec.failurePolicy: Ignore", "spec.failurePolicy: Other",
			`spec.failurePolicy: Unsupported value: "Other": supported values: "Fail", "Ignore"`},
		{"a kind of parameters has a version", "spec.paramKind: {apiVersion: a.b/v1, kind: C}",
			"spec.paramKind: {kind: C}", "spec.paramKind.apiVersion: Required value"},
		{"a kind of parameters has a kind", "spec.paramKind: {apiVersion: v1, kind: ConfigMap}",
			"spec.paramKind: {apiVersion: v1}", "spec.paramKind.kind: Required value"},
		{"the version of parameters has one slash", "spec.paramKind: {apiVersion: a.b/v1, kind: C}",
			"spec.paramKind: {apiVersion: a/b/c, kind: C}",
			`spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c`},
		{"the version of parameters is a label", "spec.paramKind: {apiVersion: a.b/v1, kind: C}",
			"spec.paramKind: {apiVersion: a.b/1v, kind: C}",
			`spec.paramKind.apiVersion: Invalid value: "1v": a DNS-1035 label must consist of lower ` +
				"case alphanumeric characters or '-', start with an alphabetic character, and end with " +
				"an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is " +
				"'[a-z]([-a-z0-9]*[a-z0-9])?')"},
		{"the version of parameters is not empty", "spec.paramKind: {apiVersion: a.b/v1, kind: C}",
			"spec.paramKind: {apiVersion: a.b/, kind: C}",
			`spec.paramKind.apiVersion: Invalid value: "a.b/": version must be specified`},
		{"the group of parameters is a subdomain", "spec.paramKind: {apiVersion: a.b/v1, kind: C}",
			"spec.paramKind: {apiVersion: a_b/v1, kind: C}",
			`spec.paramKind.apiVersion: Invalid value: "a_b": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with " +
				"an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"the kind of parameters is a label of any case", "spec.paramKind: {apiVersion: v1, kind: Ab}",
			"spec.paramKind: {apiVersion: v1, kind: A.b}",
			`spec.paramKind.kind: Invalid value: "A.b": may have mixed case, but should otherwise ` +
				"match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', " +
				"start with an alphabetic character, and end with an alphanumeric character (e.g. " +
				"'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"},
		{"a name is not one of the manifests", "metadata.name: a", "metadata.name: a.static.k8s.io",
			`metadata.name: Invalid value: "a.static.k8s.io": names ending with ".static.k8s.io" are ` +
				"reserved for static manifest-based configurations and cannot be managed via the API"},
	})
}

func TestValidatingPolicyExpressionRules(t *testing.T) {
	k := kindtest.New(t, "validatingadmissionpolicies.v1.admissionregistration.k8s.io", validatingPolicy)
	k.Create(kindtest.Rules{
		{"a policy has validations or annotations",
			`spec.validations: []; spec.auditAnnotations: [{key: k, valueExpression: "'a'"}]`, "spec.validations: []",
			"spec.validations: Required value: validations or auditAnnotations must contain at least " +
				"one item; spec.auditAnnotations: Required value: validations or auditAnnotations must " +
				"contain at least one item"},
		{"a validation has an expression", `spec.validations[1].expression: "true"`,
			`spec.validations[1].expression: " "`,
			"spec.validations[1].expression: Required value: expression is not specified"},
		{"an expression compiles", "spec.validations[0].expression: request.userInfo.username != ''",
			"spec.validations[0].expression: this is not cel",
			`spec.validations[0].expression: Invalid value: "this is not cel": compilation failed: ` +
				"ERROR: <input>:1:6: Syntax error: mismatched input 'is' expecting <EOF>\n | this is not " +
				"cel\n | .....^"},
		{"an expression is a condition", "spec.validations[0].expression: object.a == 1",
			`spec.validations[0].expression: "'a'"`,
			`spec.validations[0].expression: Invalid value: "'a'": must evaluate to bool but got string`},
		{"functions of Kubernetes are there",
			`spec.validations[0].expression: "quantity(object.a).isGreaterThan(quantity('1')) && ` +
				`sets.contains([1], [2]) && authorizer.group('').resource('pods').check('get').allowed()"`,
			"spec.validations[0].expression: quantities(object.a)",
			`spec.validations[0].expression: Invalid value: "quantities(object.a)": compilation ` +
				"failed: ERROR: <input>:1:11: undeclared reference to 'quantities' (in container '')\n | " +
				"quantities(object.a)\n | ..........^"},
		{"parameters need a kind",
			"spec.paramKind: {apiVersion: v1, kind: ConfigMap}; spec.validations[0].expression: " +
				"params.data.a == 'b'", "spec.validations[0].expression: params.a == 1",
			`spec.validations[0].expression: Invalid value: "params.a == 1": compilation failed: ` +
				"ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params.a == 1\n | ^"},
		{"variables are declared",
			`spec.variables: [{name: a, expression: "1"}]; spec.validations[0].expression: variables.a == 1`,
			"spec.validations[0].expression: variables.a == 1",
			`spec.validations[0].expression: Invalid value: "variables.a == 1": compilation failed: ` +
				"ERROR: <input>:1:1: undeclared reference to 'variables' (in container '')\n | " +
				"variables.a == 1\n | ^"},
		{"a variable has a type",
			`spec.variables: [{name: a, expression: "1"}]; spec.validations[0].expression: variables.a == 1`,
			`spec.variables: [{name: a, expression: "'x'"}]; spec.validations[0].expression: variables.a == 1`,
			`spec.validations[0].expression: Invalid value: "variables.a == 1": compilation failed: ` +
				"ERROR: <input>:1:13: found no matching overload for '_==_' applied to '(string, int)'\n " +
				"| variables.a == 1\n | ............^"},
		{"a variable uses the ones before it",
			`spec.variables: [{name: a, expression: "1"}, {name: b, expression: variables.a}]`,
			`spec.variables: [{name: a, expression: variables.b}, {name: b, expression: "1"}]`,
			`spec.variables[0].expression: Invalid value: "variables.b": compilation failed: ERROR: ` +
				"<input>:1:10: undefined field 'b'\n | variables.b\n | .........^"},
		{"a variable has a name", `spec.variables: [{name: a, expression: "1"}]`,
			`spec.variables: [{name: "", expression: "1"}]`,
			"spec.variables[0].name: Required value: name is not specified"},
		{"the name of a variable is an identifier", `spec.variables: [{name: a_1, expression: "1"}]`,
			`spec.variables: [{name: 1a, expression: "1"}]`,
			`spec.variables[0].name: Invalid value: "1a": must be a valid CEL identifier`},
		{"the name of a variable is no reserved word", `spec.variables: [{name: iff, expression: "1"}]`,
			`spec.variables: [{name: if, expression: "1"}]`,
			`spec.variables[0].name: Invalid value: "if": must be a valid CEL identifier`},
		{"a variable has an expression", `spec.variables: [{name: a, expression: "1"}]`,
			`spec.variables: [{name: a, expression: ""}]`,
			"spec.variables[0].expression: Required value: expression is not specified"},
		{"the expression of a variable compiles", `spec.variables: [{name: a, expression: "1"}]`,
			"spec.variables: [{name: a, expression: b}]",
			`spec.variables[0].expression: Invalid value: "b": compilation failed: ERROR: ` +
				"<input>:1:1: undeclared reference to 'b' (in container '')\n | b\n | ^"},
		{"a message is a text", `spec.validations[0].messageExpression: "'a' + 'b'"`,
			`spec.validations[0].messageExpression: "1"`,
			`spec.validations[0].messageExpression: Invalid value: "1": must evaluate to string but got int`},
		{"the expression of a message is not blank", `spec.validations[0].messageExpression: "'a'"`,
			`spec.validations[0].messageExpression: " "`,
			`spec.validations[0].messageExpression: Invalid value: " ": must be non-empty if specified`},
		{"the expression of a message checks no access", "spec.validations[0].messageExpression: string(object.a)",
			"spec.validations[0].messageExpression: authorizer",
			`spec.validations[0].messageExpression: Invalid value: "authorizer": compilation failed: ` +
				"ERROR: <input>:1:1: undeclared reference to 'authorizer' (in container '')\n | authorizer\n | ^"},
		{"a message is not blank", "spec.validations[0].message: m", `spec.validations[0].message: " "`,
			`spec.validations[0].message: Invalid value: " ": must be non-empty if specified`},
		{"a message is one line", "spec.validations[0].message: m", `spec.validations[0].message: "a\nb"`,
			`spec.validations[0].message: Invalid value: "a\nb": must not contain line breaks`},
		{"reasons are known", "spec.validations[0].reason: RequestEntityTooLarge",
			"spec.validations[0].reason: Unauthorized",
			`spec.validations[0].reason: Unsupported value: "Unauthorized": supported values: ` +
				`"Forbidden", "Invalid", "RequestEntityTooLarge"`},
		{"a match condition compiles", `spec.matchConditions: [{name: a, expression: "true"}]`,
			"spec.matchConditions: [{name: a, expression: tru}]",
			`spec.matchConditions[0].expression: Invalid value: "tru": compilation failed: ERROR: ` +
				"<input>:1:1: undeclared reference to 'tru' (in container '')\n | tru\n | ^"},
		{"a match condition has no variables",
			`spec.variables: [{name: a, expression: "true"}]; spec.matchConditions: [{name: a, ` +
				`expression: "true"}]`,
			`spec.variables: [{name: a, expression: "true"}]; spec.matchConditions: [{name: a, ` +
				"expression: variables.a}]",
			`spec.matchConditions[0].expression: Invalid value: "variables.a": compilation failed: ` +
				"ERROR: <input>:1:1: undeclared reference to 'variables' (in container '')\n | variables.a\n | ^"},
	})
}

func TestValidatingPolicyAnnotationRules(t *testing.T) {
	k := kindtest.New(t, "validatingadmissionpolicies.v1.admissionregistration.k8s.io", validatingPolicy).With(
		`spec.auditAnnotations: [{key: k, valueExpression: "'a'"}]`)
	k.Create(kindtest.Rules{
		{"an annotation is a text or null", `spec.auditAnnotations[0].valueExpression: "null"`,
			`spec.auditAnnotations[0].valueExpression: "1"`,
			`spec.auditAnnotations[0].valueExpression: Invalid value: "1": must evaluate to one of ` +
				"[string null_type] but got int"},
		{"an annotation has a value", `spec.auditAnnotations[0].valueExpression: "null"`,
			`spec.auditAnnotations[0].valueExpression: " "`,
			"spec.auditAnnotations[0].valueExpression: Required value: valueExpression is not specified"},
		{"the value of an annotation is short",
			`spec.auditAnnotations[0].valueExpression: "'` + strings.Repeat("a", 5118) + `'"`,
			`spec.auditAnnotations[0].valueExpression: "'` + strings.Repeat("a", 5119) + `'"`,
			"spec.auditAnnotations[0].valueExpression: Required value: must not exceed 5120 bytes in length"},
		{"the key of an annotation is the end of a qualified name", "spec.auditAnnotations[0].key: a-b",
			"spec.auditAnnotations[0].key: a/b",
			`spec.auditAnnotations[0].key: Invalid value: "x/a/b": a valid label key must consist of ` +
				"alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and " +
				"'/' (e.g. 'example.com/MyName')"},
		{"keys of annotations differ", `spec.auditAnnotations[1]: {key: j, valueExpression: "'a'"}`,
			`spec.auditAnnotations[1]: {key: k, valueExpression: "'a'"}`,
			`spec.auditAnnotations[1].key: Duplicate value: "k"`},
		{"at most 20 annotations",
			"spec.auditAnnotations: " + kindtest.List(20, `{key: k%d, valueExpression: "'a'"}`),
			"spec.auditAnnotations: " + kindtest.List(21, `{key: k%d, valueExpression: "'a'"}`),
			"spec.auditAnnotations: Invalid value: " +
				`[{"Key":"k0","ValueExpression":"'a'"},{"Key":"k1","ValueExpression":"'a'"},{"Key":"k2","` +
				`ValueExpression":"'a'"},{"Key":"k3","ValueExpression":"'a'"},{"Key":"k4","ValueExpressio` +
				`n":"'a'"},{"Key":"k5","ValueExpression":"'a'"},{"Key":"k6","ValueExpression":"'a'"},{"Ke` +
				`y":"k7","ValueExpression":"'a'"},{"Key":"k8","ValueExpression":"'a'"},{"Key":"k9","Value` +
				`Expression":"'a'"},{"Key":"k10","ValueExpression":"'a'"},{"Key":"k11","ValueExpression":` +
				`"'a'"},{"Key":"k12","ValueExpression":"'a'"},{"Key":"k13","ValueExpression":"'a'"},{"Key` +
				`":"k14","ValueExpression":"'a'"},{"Key":"k15","ValueExpression":"'a'"},{"Key":"k16","Val` +
				`ueExpression":"'a'"},{"Key":"k17","ValueExpression":"'a'"},{"Key":"k18","ValueExpression` +
				`":"'a'"},{"Key":"k19","ValueExpression":"'a'"},{"Key":"k20","ValueExpression":"'a'"}]: ` +
				"must not have more than 20 auditAnnotations"},
	})
}

func TestChangedParametersUpdateRules(t *testing.T) {
	k := kindtest.New(t, "validatingadmissionpolicies.v1.admissionregistration.k8s.io", validatingPolicy).With(
		"spec.matchConditions: [{name: a, expression: nosuch}]")
	k.Update(kindtest.Rules{
		{"unchanged conditions are not compiled unless the parameters change", "spec.failurePolicy: Ignore",
			"spec.paramKind: {apiVersion: v1, kind: ConfigMap}",
			`spec.matchConditions[0].expression: Invalid value: "nosuch": compilation failed: ERROR: ` +
				"<input>:1:1: undeclared reference to 'nosuch' (in container '')\n | nosuch\n | ^"},
	})
}

func TestValidatingPolicyUpdateRules(t *testing.T) {
	k := kindtest.New(t, "validatingadmissionpolicies.v1.admissionregistration.k8s.io", validatingPolicy)
	k.Update(kindtest.Rules{
		{"a new expression compiles", `spec.validations[0].expression: "true"`, "spec.validations[0].expression: tru",
			`spec.validations[0].expression: Invalid value: "tru": compilation failed: ERROR: ` +
				"<input>:1:1: undeclared reference to 'tru' (in container '')\n | tru\n | ^"},
		{"a new match condition compiles", `spec.matchConditions: [{name: a, expression: "true"}]`,
			"spec.matchConditions: [{name: a, expression: tru}]",
			`spec.matchConditions[0].expression: Invalid value: "tru": compilation failed: ERROR: ` +
				"<input>:1:1: undeclared reference to 'tru' (in container '')\n | tru\n | ^"},
		{"a policy has a rule of resources", "spec.failurePolicy: Ignore", "spec.matchConstraints.resourceRules: []",
			"spec.matchConstraints.resourceRules: Required value"},
	})
}

func TestValidatingPolicyStatusRules(t *testing.T) {
	k := kindtest.New(t, "validatingadmissionpolicies.v1.admissionregistration.k8s.io", validatingPolicy)
	k.UpdateStatus(kindtest.Rules{
		{"a warning has a text",
			`status.typeChecking.expressionWarnings: [{fieldRef: "spec.validations[0].expression", warning: w}]`,
			`status.typeChecking.expressionWarnings: [{fieldRef: "spec.validations[0].expression", ` +
				`warning: ""}]`, "status.typeChecking.expressionWarnings[0].warning: Required value"},
		{"a warning has a field",
			`status.typeChecking.expressionWarnings: [{fieldRef: "spec.validations[0].expression", warning: w}]`,
			`status.typeChecking.expressionWarnings: [{fieldRef: "", warning: w}]`,
			"status.typeChecking.expressionWarnings[0].fieldRef: Required value"},
		{"the field of a warning is a JSON path",
			`status.typeChecking.expressionWarnings: [{fieldRef: "spec.validations[0].expression", warning: w}]`,
			`status.typeChecking.expressionWarnings: [{fieldRef: "spec[", warning: w}]`,
			`status.typeChecking.expressionWarnings[0].fieldRef: Invalid value: "spec[": invalid ` +
				"JSONPath: unterminated array"},
		{"a condition has a reason",
			`status.conditions: [{type: A, status: "True", reason: R, message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`,
			`status.conditions: [{type: A, status: "True", reason: "", message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`, "status.conditions[0].reason: Required value"},
	})
}

func TestValidatingPolicyCreated(t *testing.T) {
	k := kindtest.New(t, "validatingadmissionpolicies.v1.admissionregistration.k8s.io", validatingPolicy)
	k.Created(kindtest.Cases{
		{"defaults", "",
			"spec.failurePolicy: Fail; spec.matchConstraints.matchPolicy: Equivalent; " +
				"spec.matchConstraints.namespaceSelector: {}; spec.matchConstraints.objectSelector: {}; " +
				`spec.matchConstraints.resourceRules[0].scope: "*"; metadata.generation: 1`},
		{"a new policy has no status", "status.observedGeneration: 5", "status: {}"},
	})
}

func TestValidatingPolicyStatusUpdated(t *testing.T) {
	k := kindtest.New(t, "validatingadmissionpolicies.v1.admissionregistration.k8s.io", validatingPolicy)
	k.StatusUpdated(kindtest.Cases{
		{"the status alone", "spec.failurePolicy: Ignore; status.observedGeneration: 5",
			"spec.failurePolicy: Fail; status.observedGeneration: 5"},
	})
}

func TestValidatingPolicyGenerations(t *testing.T) {
	k := kindtest.New(t, "validatingadmissionpolicies.v1.admissionregistration.k8s.io", validatingPolicy)
	k.Generations(kindtest.Cases{
		{"a write without a change", "", "1"},
		{"the spec", "spec.failurePolicy: Ignore", "2"},
	})
}

func TestValidatingPolicyColumns(t *testing.T) {
	k := kindtest.New(t, "validatingadmissionpolicies.v1.admissionregistration.k8s.io", validatingPolicy)
	k.Columns("Name|Validations|ParamKind|Age", kindtest.Cases{
		{"without parameters", "", "x|1|<unset>|60m"},
		{"with parameters", "spec.paramKind: {apiVersion: a.b/v1, kind: C}", "x|1|a.b/v1/C|60m"},
	})
}
