package admissionregistration_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const mutatingPolicy = `spec:
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]}
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{}"}}]`

func TestMutatingPolicyRules(t *testing.T) {
	k := kindtest.New(t, "mutatingadmissionpolicies.v1.admissionregistration.k8s.io", mutatingPolicy)
	k.Create(kindtest.Rules{
		{"a policy has mutations",
			`spec.mutations[1]: {patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{}"}}`,
			"spec.mutations: []", "spec.mutations: Required value: mutations must contain at least one item"},
		{"a deletion changes no object", "spec.matchConstraints.resourceRules[0].operations: [CREATE, UPDATE]",
			"spec.matchConstraints.resourceRules[0].operations: [DELETE]",
			`spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported ` +
				`values: "*", "CONNECT", "CREATE", "UPDATE"`},
		{"a policy matches resources", "spec.matchConstraints.matchPolicy: Exact", "spec.matchConstraints: null",
			"spec.matchConstraints: Required value"},
		{"a reinvocation policy is required", "spec.reinvocationPolicy: IfNeeded", `spec.reinvocationPolicy: ""`,
			"spec.reinvocationPolicy: Required value"},
		{"reinvocation policies are known", "spec.reinvocationPolicy: IfNeeded", "spec.reinvocationPolicy: Always",
			`spec.reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never"`},
		{"types of patches are known",
			`spec.mutations[0]: {patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: ` +
				`'test', path: '/a'}]"}}`, "spec.mutations[0].patchType: Other",
			`spec.mutations[0].patchType: Unsupported value: "Other": supported values: ` +
				`"ApplyConfiguration", "JSONPatch"`},
		{"a configuration is applied by its type",
			`spec.mutations[0].applyConfiguration.expression: "Object{metadata: ` +
				`Object.metadata{labels: {'a': 'b'}}}"`, "spec.mutations[0].applyConfiguration: null",
			"spec.mutations[0].applyConfiguration: Required value: must be specified when patchType " +
				"is ApplyConfiguration"},
		{"a configuration has no patch", `spec.mutations[0].applyConfiguration.expression: "Object{}"`,
			`spec.mutations[0].jsonPatch: {expression: "[JSONPatch{op: 'test', path: '/a'}]"}`,
			`spec.mutations[0].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when ` +
				"patchType is ApplyConfiguration"},
		{"a patch is applied by its type",
			`spec.mutations[0]: {patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: ` +
				`'test', path: '/a'}]"}}`, "spec.mutations[0]: {patchType: JSONPatch}",
			"spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch"},
		{"a patch has no configuration",
			`spec.mutations[0]: {patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: ` +
				`'test', path: '/a'}]"}}`,
			`spec.mutations[0]: {patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: ` +
				`'test', path: '/a'}]"}, applyConfiguration: {expression: "Object{}"}}`,
			`spec.mutations[0].applyConfiguration: Invalid value: "{applyConfiguration}": must not ` +
				"be specified when patchType is JSONPatch"},
		{"a configuration is an object",
			`spec.mutations[0].applyConfiguration.expression: "Object{spec: Object.spec{}}"`,
			`spec.mutations[0].applyConfiguration.expression: "'a'"`,
			`spec.mutations[0].applyConfiguration.expression: Invalid value: "'a'": must evaluate to ` +
				"Object but got string"},
		{"a configuration has an expression", `spec.mutations[0].applyConfiguration.expression: "Object{}"`,
			`spec.mutations[0].applyConfiguration.expression: ""`,
			"spec.mutations[0].applyConfiguration.expression: Required value"},
		{"a patch is a list of operations",
			`spec.mutations[0]: {patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: ` +
				`'add', path: '/a', value: 1}]"}}`,
			`spec.mutations[0]: {patchType: JSONPatch, jsonPatch: {expression: "Object{}"}}`,
			`spec.mutations[0].jsonPatch.expression: Invalid value: "Object{}": must evaluate to ` +
				"list(JSONPatch) but got Object"},
		{"variables are declared",
			`spec.variables: [{name: a, expression: "'x'"}]; ` +
				`spec.mutations[0].applyConfiguration.expression: "Object{metadata: ` +
				`Object.metadata{labels: {'a': variables.a}}}"`,
			`spec.mutations[0].applyConfiguration.expression: "Object{metadata: ` +
				`Object.metadata{labels: {'a': variables.a}}}"`,
			`spec.mutations[0].applyConfiguration.expression: Invalid value: "Object{metadata: ` +
				`Object.metadata{labels: {'a': variables.a}}}": compilation failed: ERROR: <input>:1:57: ` +
				"undefined field 'a'\n | Object{metadata: Object.metadata{labels: {'a': variables.a}}}\n | " +
				"........................................................^"},
		{"a match condition compiles", `spec.matchConditions: [{name: a, expression: "true"}]`,
			"spec.matchConditions: [{name: a, expression: tru}]",
			`spec.matchConditions[0].expression: Invalid value: "tru": compilation failed: ERROR: ` +
				"<input>:1:1: undeclared reference to 'tru' (in container '')\n | tru\n | ^"},
		{"a kind of parameters has a version", "spec.paramKind: {apiVersion: v1, kind: ConfigMap}",
			"spec.paramKind: {kind: ConfigMap}", "spec.paramKind.apiVersion: Required value"},
	})
}

func TestMutatingPolicyUpdateRules(t *testing.T) {
	k := kindtest.New(t, "mutatingadmissionpolicies.v1.admissionregistration.k8s.io", mutatingPolicy)
	k.Update(kindtest.Rules{
		{"a new expression compiles",
			`spec.mutations[0].applyConfiguration.expression: "Object{spec: Object.spec{}}"`,
			`spec.mutations[0].applyConfiguration.expression: "1"`,
			`spec.mutations[0].applyConfiguration.expression: Invalid value: "1": must evaluate to ` +
				"Object but got int"},
	})
}

func TestMutatingPolicyCreated(t *testing.T) {
	k := kindtest.New(t, "mutatingadmissionpolicies.v1.admissionregistration.k8s.io", mutatingPolicy)
	k.Created(kindtest.Cases{
		{"defaults", "",
			"spec.failurePolicy: Fail; spec.matchConstraints.matchPolicy: Equivalent; " +
				`spec.matchConstraints.resourceRules[0].scope: "*"`},
	})
}

func TestMutatingPolicyGenerations(t *testing.T) {
	k := kindtest.New(t, "mutatingadmissionpolicies.v1.admissionregistration.k8s.io", mutatingPolicy)
	k.Generations(kindtest.Cases{
		{"a write without a change", "", "1"},
		{"the spec", "spec.failurePolicy: Ignore", "2"},
	})
}

func TestMutatingPolicyColumns(t *testing.T) {
	k := kindtest.New(t, "mutatingadmissionpolicies.v1.admissionregistration.k8s.io", mutatingPolicy)
	k.Columns("Name|Mutations|ParamKind|Age", kindtest.Cases{
		{"without parameters", "", "x|1|<unset>|60m"},
		{"with parameters", "spec.paramKind: {apiVersion: a.b/v1, kind: C}", "x|1|a.b/v1/C|60m"},
	})
}
