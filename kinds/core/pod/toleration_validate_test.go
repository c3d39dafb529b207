package pod_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestTolerationRules(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Create(kindtest.Rules{
		{"key", "spec.tolerations: [{key: a.b/c, operator: Exists}]",
			`spec.tolerations: [{key: "a b", operator: Exists}]`,
			`spec.tolerations[0].key: Invalid value: "a b": name part must consist of alphanumeric ` +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"operator", "spec.tolerations: [{key: a, operator: Equal, value: b}]",
			"spec.tolerations: [{key: a, operator: Is, value: b}]",
			`spec.tolerations[0].operator: Unsupported value: "Is": supported values: "Equal", "Exists"`},
		{"no key", "spec.tolerations: [{operator: Exists}]", "spec.tolerations: [{operator: Equal}]",
			"spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` is " +
				`empty, which means "match all values and all keys"`},
		{"value of Exists", "spec.tolerations: [{key: a, operator: Exists}]",
			"spec.tolerations: [{key: a, operator: Exists, value: b}]",
			"spec.tolerations[0].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'"},
		{"value", "spec.tolerations: [{key: a, value: b}]", `spec.tolerations: [{key: a, value: "b c"}]`,
			`spec.tolerations[0].operator: Invalid value: "b c": a valid label must be an empty string ` +
				"or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
				"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"effect", "spec.tolerations: [{key: a, operator: Exists, effect: PreferNoSchedule}]",
			"spec.tolerations: [{key: a, operator: Exists, effect: Wait}]",
			`spec.tolerations[0].effect: Unsupported value: "Wait": supported values: "NoSchedule", ` +
				`"PreferNoSchedule", "NoExecute"`},
		{"seconds", "spec.tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 5}]",
			"spec.tolerations: [{key: a, operator: Exists, effect: NoSchedule, tolerationSeconds: 5}]",
			`spec.tolerations[0].effect: Invalid value: "NoSchedule": effect must be 'NoExecute' when ` +
				"`tolerationSeconds` is set"},
		{"operator of a disabled feature", `spec.tolerations: [{key: a, operator: Equal, value: "5"}]`,
			`spec.tolerations: [{key: a, operator: Gt, value: "5"}]`,
			`spec.tolerations[0].operator: Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"`},
	})
}

func TestTaintTolerationComparisonOperators(t *testing.T) {
	kindtest.New(t, "pods.v1", pod, "TaintTolerationComparisonOperators").Create(kindtest.Rules{
		{"value of Gt", `spec.tolerations: [{key: a, operator: Gt, value: "5"}]`,
			"spec.tolerations: [{key: a, operator: Gt, value: b}]",
			`spec.tolerations[0].value: Invalid value: "b": must be a valid decimal integer in canonical ` +
				`form; spec.tolerations[0].value: Invalid value: "b": strconv.ParseInt: parsing "b": invalid syntax`},
		{"leading zero", `spec.tolerations: [{key: a, operator: Lt, value: "-5"}]`,
			`spec.tolerations: [{key: a, operator: Lt, value: "05"}]`,
			`spec.tolerations[0].value: Invalid value: "05": must be a valid decimal integer in canonical form`},
	})
}
