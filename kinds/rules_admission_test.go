package kinds

import (
	"slices"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/admissionregistration"
)

func TestWebhookRules(t *testing.T) {
	hooks := func(more string) string {
		return `{"webhooks":[{"name":"a.example.com","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://a/x"}` + more + `}]}`
	}
	old := `{"webhooks":[{"name":"a.example.com","sideEffects":"Some","admissionReviewVersions":["v9"],"clientConfig":{"url":"https://a/x"},"matchConditions":[{"name":"c","expression":"nosuch"}]}]}`
	testRules(t, admissionregistration.ValidatingWebhookConfiguration(features.Default(), expression.Library{}), []ruleTest{
		{"good", "", hooks(``), ""},
		{"static name", "", `{"metadata":{"name":"a.static.k8s.io"}}`, `metadata.name: Invalid value: "a.static.k8s.io": names ending with ".static.k8s.io" are reserved`},
		{"timeout", "", hooks(`,"timeoutSeconds":60`), "webhooks[0].timeoutSeconds: Invalid value: 60: the timeout value must be between 1 and 30 seconds"},
		{"stars", "", hooks(`,"rules":[{"operations":["*","CREATE"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*","pods"]}]`),
			`[webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations, webhooks[0].rules[0].resources: Invalid value: ["*","pods"]: if '*' is present, must not specify other resources without subresources]`},
		{"condition", "", hooks(`,"matchConditions":[{"name":"c","expression":"1"}]`), `webhooks[0].matchConditions[0].expression: Invalid value: "1": must evaluate to bool but got int`},
		{"as lenient as before", old, old, ""},
		{"not more lenient", hooks(``), old, `webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"`},
	})
	testRules(t, admissionregistration.MutatingWebhookConfiguration(features.Default(), expression.Library{}), []ruleTest{
		{"service", "", `{"webhooks":[{"name":"a.example.com","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"service":{"name":"a","namespace":"b","path":"/a//b"}}}]}`,
			`webhooks[0].clientConfig.service.path: Invalid value: "/a//b": segment[1] may not be empty`},
		{"relative path", "", `{"webhooks":[{"name":"a.example.com","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"service":{"name":"a","namespace":"b","path":"x//y"}}}]}`,
			`webhooks[0].clientConfig.service.path: Invalid value: "x//y": segment[0] may not be empty`},
		{"no name", "", `{"webhooks":[{"name":"a.example.com","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"service":{"namespace":"b"}}}]}`,
			`webhooks[0].clientConfig.service.namespace: Required value`},
		{"http", "", `{"webhooks":[{"name":"short","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"http://a"}}]}`,
			`webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]`},
	})
}

func TestPolicyRules(t *testing.T) {
	var all expression.Library
	const match = `"matchConstraints":{"resourceRules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}]}`
	policy := func(more string) string { return `{"spec":{` + match + `,` + more + `}}` }
	expression := func(text string) string { return policy(`"validations":[{"expression":"` + text + `"}]`) }
	testRules(t, admissionregistration.ValidatingAdmissionPolicy(features.Default(), all), []ruleTest{
		{"good", "", expression("object.metadata.name == 'a' && request.userInfo.username != ''"), ""},
		{"nothing", "", `{"spec":{}}`, "spec.matchConstraints: Required value"},
		{"grammar", "", expression("this is not cel"), "compilation failed: ERROR: <input>:1:6: Syntax error: mismatched input 'is' expecting <EOF>\n | this is not cel\n | .....^"},
		{"undeclared", "", expression("params.a == 1"), "undeclared reference to 'params' (in container '')"},
		{"result", "", expression("'a'"), "must evaluate to bool but got string"},
		{"functions of Kubernetes", "", expression("quantity(object.a).isGreaterThan(quantity('1')) && sets.contains([1], [2]) && authorizer.group('').resource('pods').check('get').allowed()"), ""},
		{"variables", "", policy(`"variables":[{"name":"a","expression":"'x'"}],"validations":[{"expression":"variables.a == 1"}]`), "no matching overload"},
		{"no variables", "", expression("variables.a"), "ERROR: <input>:1:1: undeclared reference to 'variables' (in container '')"},
		{"forward", "", policy(`"variables":[{"name":"a","expression":"variables.b"},{"name":"b","expression":"1"}],"validations":[{"expression":"true"}]`), "undefined field 'b'"},
		{"annotation", "", policy(`"auditAnnotations":[{"key":"k","valueExpression":"1"}]`), "must evaluate to one of [string null_type] but got int"},
		{"no authorizer in messages", "", policy(`"validations":[{"expression":"true","messageExpression":"authorizer"}]`), "undeclared reference to 'authorizer'"},
		{"reason", "", policy(`"validations":[{"expression":"true","reason":"Unauthorized"}]`), `spec.validations[0].reason: Unsupported value: "Unauthorized": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"`},
	})
	mutation := func(text string) string {
		return policy(`"reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"` + text + `"}}]`)
	}
	testRules(t, admissionregistration.MutatingAdmissionPolicy(features.Default(), all), []ruleTest{
		{"good", "", mutation("Object{metadata: Object.metadata{labels: {'a': 'b'}}}"), ""},
		{"deletions", "", strings.Replace(mutation("Object{}"), "CREATE", "DELETE", 1), `spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"`},
		{"no variables", "", mutation("variables.a"), "undefined field 'a'"},
		{"result", "", mutation("'a'"), "must evaluate to Object but got string"},
		{"patches", "", policy(`"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'add', path: '/a', value: 1}]"}}]`), ""},
		{"no patches", "", policy(`"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"Object{}"}}]`), "must evaluate to list(JSONPatch) but got Object"},
	})
	testRules(t, admissionregistration.ValidatingAdmissionPolicyBinding(features.Default()), []ruleTest{
		{"parameters", "", `{"spec":{"policyName":"a","validationActions":["Deny"],"paramRef":{"name":"a","selector":{}}}}`,
			"[spec.paramRef.name: Forbidden: name and selector are mutually exclusive, spec.paramRef.selector: Forbidden: name and selector are mutually exclusive, spec.paramRef.parameterNotFoundAction: Required value]"},
		{"actions", "", `{"spec":{"policyName":"a","validationActions":["Deny","Warn"]}}`, "must not contain both Deny and Warn"},
	})
	testRules(t, admissionregistration.MutatingAdmissionPolicyBinding(features.Default()), []ruleTest{{"policy", "", `{"spec":{}}`, "spec.policyName: Required value"}})
}

// TestStaticNames checks that names of objects in manifests are refused if manifests can be used, and
// cause a warning otherwise.
func TestStaticNames(t *testing.T) {
	disabled, err := features.New(map[string]bool{features.ManifestBasedAdmissionControlConfig: false})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		kinds []*api.Resource
		want  bool // a warning instead of an error
	}{
		{"enabled", admissionregistration.Kinds(features.Default(), expression.Library{}), false},
		{"disabled", admissionregistration.Kinds(disabled, expression.Library{}), true},
		{"in manifests", admissionregistration.ManifestKinds(features.Default(), expression.Library{}), true},
	} {
		for _, res := range test.kinds {
			obj := res.New()
			obj.SetName("a.static.k8s.io")
			errs := res.CheckCreate(&res.Versions[0], obj).ToAggregate()
			refused := errs != nil && strings.Contains(errs.Error(), "are reserved for static manifest-based configurations")
			warned := slices.ContainsFunc(warningsOf(res, &res.WriteRules, obj, nil), func(text string) bool { return strings.Contains(text, "are reserved for static") })
			if refused == test.want || warned != test.want {
				t.Errorf("%s: %s: refused %v, warned %v", test.name, res.Name, refused, warned)
			}
		}
	}
}
