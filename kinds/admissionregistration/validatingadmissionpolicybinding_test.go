package admissionregistration_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const validatingBinding = `spec: {policyName: p, validationActions: [Deny]}`

func TestValidatingBindingRules(t *testing.T) {
	k := kindtest.New(t, "validatingadmissionpolicybindings.v1.admissionregistration.k8s.io", validatingBinding)
	k.Create(kindtest.Rules{
		{"a binding has a policy", "spec.policyName: a.b", `spec.policyName: ""`, "spec.policyName: Required value"},
		{"the name of a policy is a subdomain", "spec.policyName: a.b", "spec.policyName: a_b",
			`spec.policyName: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"a rule of resources has all parts", "spec.validationActions: [Audit]",
			"spec.matchResources: {resourceRules: [{}]}",
			"spec.matchResources.resourceRules[0].operations: Required value; " +
				"spec.matchResources.resourceRules[0].apiGroups: Required value; " +
				"spec.matchResources.resourceRules[0].apiVersions: Required value; " +
				"spec.matchResources.resourceRules[0].resources: Required value"},
		{"a binding has actions", "spec.validationActions: [Audit]", "spec.validationActions: []",
			"spec.validationActions: Required value"},
		{"actions are known", "spec.validationActions: [Warn, Audit]", "spec.validationActions: [Other]",
			`spec.validationActions[0]: Unsupported value: "Other": supported values: "Audit", "Deny", "Warn"`},
		{"actions differ", "spec.validationActions: [Deny, Audit]", "spec.validationActions: [Deny, Deny]",
			`spec.validationActions[1]: Duplicate value: "Deny"`},
		{"a denied request has no warning", "spec.validationActions: [Warn]", "spec.validationActions: [Deny, Warn]",
			`spec.validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny and ` +
				"Warn (repeating the same validation failure information in the API response and headers " +
				"serves no purpose)"},
		{"parameters have a name or a selector", "spec.paramRef: {name: a, parameterNotFoundAction: Deny}",
			"spec.paramRef: {parameterNotFoundAction: Deny}",
			"spec.paramRef: Required value: one of name or selector must be specified"},
		{"parameters with a name have no selector", "spec.paramRef: {selector: {}, parameterNotFoundAction: Allow}",
			"spec.paramRef: {name: a, selector: {}, parameterNotFoundAction: Allow}",
			"spec.paramRef.name: Forbidden: name and selector are mutually exclusive; " +
				"spec.paramRef.selector: Forbidden: name and selector are mutually exclusive"},
		{"the name of parameters is a path segment", "spec.paramRef: {name: a_b, parameterNotFoundAction: Deny}",
			"spec.paramRef: {name: a/b, parameterNotFoundAction: Deny}",
			`spec.paramRef.name: Invalid value: "a/b": may not contain '/'`},
		{"the selector of parameters is valid",
			"spec.paramRef: {selector: {matchLabels: {a: b}}, parameterNotFoundAction: Deny}",
			"spec.paramRef: {selector: {matchLabels: {a: b c}}, parameterNotFoundAction: Deny}",
			`spec.paramRef.selector.matchLabels: Invalid value: "b c": a valid label must be an ` +
				"empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and " +
				"end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex " +
				"used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"what happens without parameters is required", "spec.paramRef: {name: a, parameterNotFoundAction: Allow}",
			"spec.paramRef: {name: a}", "spec.paramRef.parameterNotFoundAction: Required value"},
		{"what happens without parameters is known", "spec.paramRef: {name: a, parameterNotFoundAction: Allow}",
			"spec.paramRef: {name: a, parameterNotFoundAction: Other}",
			`spec.paramRef.parameterNotFoundAction: Unsupported value: "Other": supported values: ` +
				`"Deny", "Allow"`},
		{"a match policy is known", "spec.matchResources: {matchPolicy: Exact}",
			"spec.matchResources: {matchPolicy: Other}",
			`spec.matchResources.matchPolicy: Unsupported value: "Other": supported values: ` +
				`"Equivalent", "Exact"`},
		{"a rule of resources has operations",
			`spec.matchResources: {resourceRules: [{operations: [DELETE], apiGroups: [""], ` +
				"apiVersions: [v1], resources: [pods]}]}",
			`spec.matchResources: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods]}]}`,
			"spec.matchResources.resourceRules[0].operations: Required value"},
		{"a name is not one of the manifests", "metadata.name: a", "metadata.name: a.static.k8s.io",
			`metadata.name: Invalid value: "a.static.k8s.io": names ending with ".static.k8s.io" are ` +
				"reserved for static manifest-based configurations and cannot be managed via the API"},
	})
}

func TestValidatingBindingUpdateRules(t *testing.T) {
	k := kindtest.New(t, "validatingadmissionpolicybindings.v1.admissionregistration.k8s.io", validatingBinding)
	k.Update(kindtest.Rules{
		{"actions are known", "spec.validationActions: [Warn]", "spec.validationActions: [Other]",
			`spec.validationActions[0]: Unsupported value: "Other": supported values: "Audit", "Deny", "Warn"`},
	})
}

func TestValidatingBindingCreated(t *testing.T) {
	k := kindtest.New(t, "validatingadmissionpolicybindings.v1.admissionregistration.k8s.io", validatingBinding)
	k.Created(kindtest.Cases{
		{"defaults of a match",
			`spec.matchResources.resourceRules: [{operations: [DELETE], apiGroups: [""], ` +
				"apiVersions: [v1], resources: [pods]}]",
			"spec.matchResources.matchPolicy: Equivalent; spec.matchResources.namespaceSelector: {}; " +
				`spec.matchResources.objectSelector: {}; spec.matchResources.resourceRules[0].scope: "*"`},
	})
}

func TestValidatingBindingGenerations(t *testing.T) {
	k := kindtest.New(t, "validatingadmissionpolicybindings.v1.admissionregistration.k8s.io", validatingBinding)
	k.Generations(kindtest.Cases{
		{"a write without a change", "", "1"},
		{"the spec", "spec.validationActions: [Warn]", "2"},
	})
}

func TestValidatingBindingColumns(t *testing.T) {
	k := kindtest.New(t, "validatingadmissionpolicybindings.v1.admissionregistration.k8s.io", validatingBinding)
	k.Columns("Name|PolicyName|ParamRef|Age", kindtest.Cases{
		{"without parameters", "", "x|p|<unset>|60m"},
		{"parameters by name", "spec.paramRef: {name: a, parameterNotFoundAction: Deny}", "x|p|*/a|60m"},
		{"parameters in a namespace", "spec.paramRef: {name: a, namespace: b, parameterNotFoundAction: Deny}",
			"x|p|b/a|60m"},
		{"parameters by selector", "spec.paramRef: {selector: {matchLabels: {a: b}}, parameterNotFoundAction: Deny}",
			"x|p|&LabelSelector{MatchLabels:map[string]string{a: " +
				"b,},MatchExpressions:[]LabelSelectorRequirement{},}|60m"},
	})
}
