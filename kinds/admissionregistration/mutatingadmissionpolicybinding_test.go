package admissionregistration_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const mutatingBinding = `spec: {policyName: p}`

func TestMutatingBindingRules(t *testing.T) {
	k := kindtest.New(t, "mutatingadmissionpolicybindings.v1.admissionregistration.k8s.io", mutatingBinding)
	k.Create(kindtest.Rules{
		{"a binding has a policy", "spec.policyName: a.b", `spec.policyName: ""`, "spec.policyName: Required value"},
		{"a deletion changes no object",
			`spec.matchResources: {resourceRules: [{operations: [CREATE], apiGroups: [""], ` +
				"apiVersions: [v1], resources: [pods]}]}",
			`spec.matchResources: {resourceRules: [{operations: [DELETE], apiGroups: [""], ` +
				"apiVersions: [v1], resources: [pods]}]}",
			`spec.matchResources.resourceRules.operations: Unsupported value: "DELETE": supported ` +
				`values: "*", "CONNECT", "CREATE", "UPDATE"`},
		{"what happens without parameters is required", "spec.paramRef: {name: a, parameterNotFoundAction: Allow}",
			"spec.paramRef: {name: a}", "spec.paramRef.parameterNotFoundAction: Required value"},
	})
}

func TestMutatingBindingUpdateRules(t *testing.T) {
	k := kindtest.New(t, "mutatingadmissionpolicybindings.v1.admissionregistration.k8s.io", mutatingBinding)
	k.Update(kindtest.Rules{
		{"the name of a policy is a subdomain", "spec.policyName: q", "spec.policyName: q_r",
			`spec.policyName: Invalid value: "q_r": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
	})
}

func TestMutatingBindingCreated(t *testing.T) {
	k := kindtest.New(t, "mutatingadmissionpolicybindings.v1.admissionregistration.k8s.io", mutatingBinding)
	k.Created(kindtest.Cases{
		{"defaults of a match", "spec.matchResources: {}",
			"spec.matchResources.matchPolicy: Equivalent; spec.matchResources.namespaceSelector: {}"},
	})
}

func TestMutatingBindingGenerations(t *testing.T) {
	k := kindtest.New(t, "mutatingadmissionpolicybindings.v1.admissionregistration.k8s.io", mutatingBinding)
	k.Generations(kindtest.Cases{
		{"a write without a change", "", "1"},
		{"the spec", "spec.policyName: q", "2"},
	})
}

func TestMutatingBindingColumns(t *testing.T) {
	k := kindtest.New(t, "mutatingadmissionpolicybindings.v1.admissionregistration.k8s.io", mutatingBinding)
	k.Columns("Name|PolicyName|ParamRef|Age", kindtest.Cases{
		{"without parameters", "", "x|p|<unset>|60m"},
		{"parameters by name", "spec.paramRef: {name: a, parameterNotFoundAction: Deny}", "x|p|*/a|60m"},
	})
}

const mutatingBindingV1alpha1 = `spec: {policyName: p}`

func TestMutatingBindingV1alpha1Created(t *testing.T) {
	k := kindtest.New(t, "mutatingadmissionpolicybindings.v1alpha1.admissionregistration.k8s.io", mutatingBindingV1alpha1)
	k.Created(kindtest.Cases{
		{"what happens without parameters has a default", "spec.paramRef: {name: a}",
			"spec.paramRef.parameterNotFoundAction: Deny"},
	})
}
