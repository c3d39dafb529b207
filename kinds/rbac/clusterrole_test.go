package rbac_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const clusterRole = `rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`

func TestClusterRoleRules(t *testing.T) {
	kindtest.New(t, "clusterroles.v1.rbac.authorization.k8s.io", clusterRole).Create(kindtest.Rules{
		{"name", `metadata.name: "system:a"`, "metadata.name: a%b",
			`metadata.name: Invalid value: "a%b": may not contain '%'`},
		{"paths", "rules[0]: {nonResourceURLs: [/a], verbs: [get]}", "rules[0].nonResourceURLs: [/a]",
			`rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular ` +
				"resources and non-resource URLs"},
		{"verbs", "rules[0].verbs: [list]", "rules[0].verbs: null", "rules[0].verbs: Required value"},
		{"aggregation", "aggregationRule.clusterRoleSelectors: [{matchLabels: {a: b}}]",
			"aggregationRule.clusterRoleSelectors: []",
			"aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector " +
				"required if aggregationRule is non-nil"},
		{"label of an aggregation", "aggregationRule.clusterRoleSelectors: [{matchLabels: {a: b}}]",
			`aggregationRule.clusterRoleSelectors: [{matchLabels: {a: "b c"}}]`,
			`aggregationRule.clusterRoleSelectors[0].matchLabels: Invalid value: "b c": a valid label ` +
				"must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must " +
				"start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', " +
				"regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?'); " +
				"aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector."},
		{"operator of an aggregation",
			"aggregationRule.clusterRoleSelectors: [{matchExpressions: [{key: a, operator: Exists}]}]",
			"aggregationRule.clusterRoleSelectors: [{matchExpressions: [{key: a, operator: Has}]}]",
			`aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: "Has": ` +
				"not a valid selector operator; aggregationRule.clusterRoleSelectors[0]: Invalid value: " +
				"null: invalid label selector."},
	})
}

func TestClusterRoleUpdateRules(t *testing.T) {
	kindtest.New(t, "clusterroles.v1.rbac.authorization.k8s.io", clusterRole).Update(kindtest.Rules{
		{"aggregation", "aggregationRule.clusterRoleSelectors: [{matchLabels: {a: b}}]", "aggregationRule: {}",
			"aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector " +
				"required if aggregationRule is non-nil"},
	})
}

func TestClusterRoleColumns(t *testing.T) {
	k := kindtest.New(t, "clusterroles.v1.rbac.authorization.k8s.io", clusterRole)
	k.Columns("Name|Created At", kindtest.Cases{
		{"any", "", "x|2026-05-04T11:00:00Z"},
	})
}
