package policy_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const budget = `spec: {minAvailable: 50%, selector: {matchLabels: {a: b}}}`

func TestBudgetRules(t *testing.T) {
	kindtest.New(t, "poddisruptionbudgets.v1.policy", budget).Create(kindtest.Rules{
		{"minAvailable", "spec.minAvailable: 100%", "spec.minAvailable: 101%",
			`spec.minAvailable: Invalid value: "101%": must not be greater than 100%`},
		{"negative minAvailable", "spec.minAvailable: 0", "spec.minAvailable: -1",
			"spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"},
		{"no percentage", "spec.minAvailable: 5%", "spec.minAvailable: five",
			`spec.minAvailable: Invalid value: "five": a valid percent string must be a numeric string ` +
				"followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"},
		{"maxUnavailable", "spec: {maxUnavailable: 5}", "spec: {maxUnavailable: -5}",
			"spec.maxUnavailable: Invalid value: -5: must be greater than or equal to 0"},
		{"both", "spec: {maxUnavailable: 5%}", "spec.maxUnavailable: 5%",
			"spec: Invalid value: " +
				`{"MinAvailable":"50%","Selector":{"matchLabels":{"a":"b"}},"MaxUnavailable":"5%","UnhealthyP` +
				`odEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set`},
		{"percentage of maxUnavailable", "spec: {maxUnavailable: 100%}", "spec: {maxUnavailable: 101%}",
			`spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%`},
		{"selector", "spec.selector: {}", `spec.selector: {matchLabels: {a: "b c"}}`,
			`spec.selector.matchLabels: Invalid value: "b c": a valid label must be an empty string or ` +
				"consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
				"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"operator of the selector", "spec.selector.matchExpressions: [{key: a, operator: Exists}]",
			"spec.selector.matchExpressions: [{key: a, operator: Has}]",
			`spec.selector.matchExpressions[0].operator: Invalid value: "Has": not a valid selector operator`},
		{"eviction of unhealthy pods", "spec.unhealthyPodEvictionPolicy: AlwaysAllow",
			"spec.unhealthyPodEvictionPolicy: Other",
			`spec.unhealthyPodEvictionPolicy: Unsupported value: "Other": supported values: ` +
				`"AlwaysAllow", "IfHealthyBudget"`},
	})
}

func TestBudgetUpdateRules(t *testing.T) {
	kindtest.New(t, "poddisruptionbudgets.v1.policy", budget).Update(kindtest.Rules{
		{"minAvailable", "spec.minAvailable: 1", "spec.minAvailable: -1",
			"spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"},
		{"selector", "spec.selector: {matchLabels: {c: d}}", `spec.selector: {matchLabels: {c: "d e"}}`,
			`spec.selector.matchLabels: Invalid value: "d e": a valid label must be an empty string or ` +
				"consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
				"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"both", "spec: {maxUnavailable: 1, selector: {matchLabels: {a: b}}}", "spec.maxUnavailable: 1",
			"spec: Invalid value: " +
				`{"MinAvailable":"50%","Selector":{"matchLabels":{"a":"b"}},"MaxUnavailable":1,"UnhealthyPodE` +
				`victionPolicy":null}: minAvailable and maxUnavailable cannot be both set`},
	})
}

func TestBudgetStatusRules(t *testing.T) {
	k := kindtest.New(t, "poddisruptionbudgets.v1.policy", budget).With(
		"status: {disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1}")
	k.UpdateStatus(kindtest.Rules{
		{"disruptionsAllowed", "status.disruptionsAllowed: 1", "status.disruptionsAllowed: -1",
			"status.disruptionsAllowed: Invalid value: -1: must be greater than or equal to 0"},
		{"currentHealthy", "status.currentHealthy: 0", "status.currentHealthy: -1",
			"status.currentHealthy: Invalid value: -1: must be greater than or equal to 0"},
		{"desiredHealthy", "status.desiredHealthy: 0", "status.desiredHealthy: -1",
			"status.desiredHealthy: Invalid value: -1: must be greater than or equal to 0"},
		{"expectedPods", "status.expectedPods: 0", "status.expectedPods: -1",
			"status.expectedPods: Invalid value: -1: must be greater than or equal to 0"},
		{"condition",
			`status.conditions: [{type: A, status: "True", reason: R, message: "", lastTransitionTime: ` +
				`"2026-05-04T11:00:00Z"}]`,
			`status.conditions: [{type: A, status: Maybe, reason: R, message: "", lastTransitionTime: ` +
				`"2026-05-04T11:00:00Z"}]`,
			`status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"`},
	})
}

func TestBudgetCreated(t *testing.T) {
	kindtest.New(t, "poddisruptionbudgets.v1.policy", budget).Created(kindtest.Cases{
		{"status", "status: {disruptionsAllowed: 5, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1}",
			"status.disruptionsAllowed: 0; metadata.generation: 1"},
	})
}

func TestBudgetStatusUpdated(t *testing.T) {
	kindtest.New(t, "poddisruptionbudgets.v1.policy", budget).StatusUpdated(kindtest.Cases{
		{"spec", "spec.minAvailable: 5; status.currentHealthy: 5",
			"spec.minAvailable: 50%; status.currentHealthy: 5"},
	})
}

func TestBudgetGenerations(t *testing.T) {
	kindtest.New(t, "poddisruptionbudgets.v1.policy", budget).Generations(kindtest.Cases{
		{"nothing", "", "1"},
		{"spec", "spec.minAvailable: 5", "2"},
	})
}

func TestBudgetColumns(t *testing.T) {
	k := kindtest.New(t, "poddisruptionbudgets.v1.policy", budget)
	k.Columns("Name|Min Available|Max Unavailable|Allowed Disruptions|Age", kindtest.Cases{
		{"minimum", "", "x|50%|N/A|0|60m"},
		{"maximum",
			"spec: {maxUnavailable: 1}; status: {disruptionsAllowed: 1, currentHealthy: 1, " +
				"desiredHealthy: 1, expectedPods: 1}", "x|N/A|1|1|60m"},
	})
}

func TestBudgetStatusRules2(t *testing.T) {
	kindtest.New(t, "poddisruptionbudgets.v1.policy", budget).UpdateStatus(kindtest.Rules{
		{"disrupted pods", `status.disruptedPods: {a: "2026-05-04T11:00:00Z"}`,
			"status.disruptedPods: {}; status.expectedPods: -2",
			"status.expectedPods: Invalid value: -2: must be greater than or equal to 0"},
		{"generation", "status.observedGeneration: 1", "status.desiredHealthy: -2",
			"status.desiredHealthy: Invalid value: -2: must be greater than or equal to 0"},
	})
}

// TestBudgetConverted shows that an empty selector matches nothing in v1beta1, and all pods in v1.
func TestBudgetConverted(t *testing.T) {
	kindtest.New(t, "poddisruptionbudgets.v1.policy", budget).Converted("v1beta1", kindtest.Cases{
		{"selector", "", `spec.selector: {"matchLabels":{"a":"b"}}`},
		{"all pods", "spec.selector: {}",
			`spec.selector: {"matchExpressions":[{"key":"pdb.kubernetes.io/deprecated-v1beta1-empty-selec` +
				`tor-match","operator":"DoesNotExist"}]}`},
		{"no pods", "spec.selector: null", "spec.selector: null"},
	})
}

const oldBudget = `spec: {minAvailable: 1, selector: {}}`

// TestOldBudgetConverted shows what v1 has for the selectors of v1beta1.
func TestOldBudgetConverted(t *testing.T) {
	kindtest.New(t, "poddisruptionbudgets.v1beta1.policy", oldBudget).Converted("v1", kindtest.Cases{
		{"empty", "",
			`spec.selector: {"matchExpressions":[{"key":"pdb.kubernetes.io/deprecated-v1beta1-empty-selec` +
				`tor-match","operator":"Exists"}]}`},
		{"all pods",
			"spec.selector.matchExpressions: [{key: " +
				"pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match, operator: DoesNotExist}]",
			"spec.selector: {}"},
		{"another", "spec.selector: {matchLabels: {a: b}}", `spec.selector: {"matchLabels":{"a":"b"}}`},
		{"none", "spec.selector: null", "spec.selector: null"},
	})
}
