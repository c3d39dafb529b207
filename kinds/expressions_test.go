package kinds

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/api/custom/structural"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// TestNewExpressions checks that expressions in new objects may call only functions of the oldest
// compatible release, while an update may keep stored expressions.
func TestNewExpressions(t *testing.T) {
	const (
		match = `"matchConstraints":{"namespaceSelector":{},"objectSelector":{},"matchPolicy":"Equivalent","resourceRules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"],"scope":"*"}]}`
		call  = `[1].includes(1)`
		hook  = `{"metadata":{"name":"a","resourceVersion":"1"},"webhooks":[{"name":"a.example.com","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://a/x"},"matchConditions":[{"name":"c","expression":"` + call + `"}],"timeoutSeconds":TIME,"namespaceSelector":{},"objectSelector":{}}]}`
	)
	for resource, text := range map[string]string{
		"validatingadmissionpolicies":     `{"metadata":{"name":"a","resourceVersion":"1"},"spec":{"failurePolicy":"Fail",` + match + `,"validations":[{"expression":"` + call + `"},{"expression":"TIME > 1"}]}}`,
		"mutatingadmissionpolicies":       `{"metadata":{"name":"a","resourceVersion":"1"},"spec":{"failurePolicy":"Fail","reinvocationPolicy":"Never",` + match + `,"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":" ` + call + ` ? Object{} : Object{}"}},{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'test', path: '/a', value: TIME}]"}}]}}`,
		"validatingwebhookconfigurations": hook,
		"mutatingwebhookconfigurations":   hook,
		"deviceclasses":                   `{"metadata":{"name":"a","resourceVersion":"1","annotations":{"time":"TIME"}},"spec":{"selectors":[{"cel":{"expression":"` + call + `"}}]}}`,
		"customresourcedefinitions": `{"metadata":{"name":"as.example.com","resourceVersion":"1"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"as","singular":"a","kind":"A","listKind":"AList"},
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"x":{"type":"integer","maximum":TIME}},"x-kubernetes-validations":[{"rule":"` + call + `"}]}}}]},"status":{"storedVersions":["v1"]}}`,
	} {
		for _, test := range []struct {
			oldest  string
			allowed bool
		}{{"1.36", false}, {"1.37", true}} {
			for _, res := range Beside(kubeversion.MustParse(test.oldest), features.Default(), structural.Release{}) {
				if res.Name != resource {
					continue
				}
				obj, old := res.New(), res.New()
				for into, time := range map[any]string{obj: "10", old: "20"} {
					if err := json.Unmarshal([]byte(strings.ReplaceAll(text, "TIME", time)), into); err != nil {
						t.Fatal(err)
					}
				}
				if res.Default != nil {
					res.Default(obj)
					res.Default(old)
				}
				errs := res.CheckCreate(&res.Versions[0], obj).ToAggregate()
				if (errs == nil) != test.allowed || errs != nil && !strings.Contains(errs.Error(), "undeclared reference to 'includes'") {
					t.Errorf("%s, new, beside %s: %v", resource, test.oldest, errs)
				}
				if errs := checkUpdate(res, &res.Versions[0], obj, old).ToAggregate(); errs != nil {
					t.Errorf("%s, stored, beside %s: %v", resource, test.oldest, errs)
				}
			}
		}
	}
}

// TestStoredExpressionsByUse checks that a stored expression may call all functions only where the policy
// had it, as in kube-apiserver, which recognizes no stored variables and JSON patches.
func TestStoredExpressionsByUse(t *testing.T) {
	const (
		head  = `{"metadata":{"name":"a","resourceVersion":"1"},"spec":{"failurePolicy":"Fail","matchConstraints":{"namespaceSelector":{},"objectSelector":{},"matchPolicy":"Equivalent","resourceRules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"],"scope":"*"}]},`
		call  = `[1].includes(1)`
		text  = `string(` + call + `)`
		patch = `"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'test', path: '/a', value: ` + call + `}]"}}]}}`
		plain = `"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'test', path: '/a'}]"}}]`
		conds = `,"matchConditions":[{"name":"c","expression":"` + call + `"}]}}`
		vars  = `,"variables":[{"name":"v","expression":"` + call + `"}]}}`
		valid = `"validations":[{"expression":"` + call + `"}]`
		audit = `,"auditAnnotations":[{"key":"k","valueExpression":" ` + text + `"}]}}`
	)
	for _, c := range []struct{ name, resource, old, obj, want string }{
		{"a patch", "mutatingadmissionpolicies", head + patch, head + patch, "spec.mutations[0].jsonPatch.expression"},
		{"a condition", "mutatingadmissionpolicies", head + plain + conds, head + plain + conds, ""},
		{"a condition as a variable", "mutatingadmissionpolicies", head + plain + conds, head + plain + vars, "spec.variables[0].expression"},
		{"a validation", "validatingadmissionpolicies", head + valid + "}}", head + valid + "}}", ""},
		{"a validation as a variable", "validatingadmissionpolicies", head + valid + "}}", head + valid + vars, ""},
		{"a validation as a condition", "validatingadmissionpolicies", head + valid + "}}", head + valid + conds, "spec.matchConditions[0].expression"},
		{"an annotation", "validatingadmissionpolicies", head + valid + audit, head + valid + audit, ""},
		{"an annotation as a message", "validatingadmissionpolicies", head + valid + audit,
			head + `"validations":[{"expression":"true","messageExpression":"` + text + `"}]}}`, "spec.validations[0].messageExpression"},
	} {
		for _, res := range Beside(kubeversion.MustParse("1.36"), features.Default(), structural.Release{}) {
			if res.Name != c.resource {
				continue
			}
			errs := checkUpdate(res, &res.Versions[0], ruleObject(t, res, c.obj), ruleObject(t, res, c.old))
			got := ""
			if len(errs) > 0 {
				got = errs[0].Field
			}
			if len(errs) > 1 || got != c.want {
				t.Errorf("%s: %v, want an error at %q", c.name, errs, c.want)
			}
		}
	}
}
