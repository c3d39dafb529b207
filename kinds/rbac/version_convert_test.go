package rbac_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const olderBinding = `roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}
subjects: [{kind: User, name: u}]`

func TestOlderBindingInV1(t *testing.T) {
	kindtest.New(t, "rolebindings.v1alpha1.rbac.authorization.k8s.io", olderBinding).Converted("v1", kindtest.Cases{
		{"a user is of the group", "", "subjects[0].apiGroup: rbac.authorization.k8s.io"},
		{"a user with a version", "subjects[0].apiVersion: rbac.authorization.k8s.io/v1alpha1",
			"subjects[0].apiGroup: rbac.authorization.k8s.io"},
		{"a service account", "subjects: [{kind: ServiceAccount, name: a, namespace: b}]",
			`subjects[0]: {"kind":"ServiceAccount","name":"a","namespace":"b"}`},
		{"a service account with a version",
			"subjects: [{kind: ServiceAccount, apiVersion: v1, name: a, namespace: b}]",
			`subjects[0]: {"kind":"ServiceAccount","name":"a","namespace":"b"}`},
	})
}

const mixedRole = `rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`

func TestMixedRoleRules(t *testing.T) {
	kindtest.New(t, "clusterroles.v1.rbac.authorization.k8s.io", mixedRole).Create(kindtest.Rules{
		{"a rule is about resources or paths", "rules[0]: {nonResourceURLs: [/x], verbs: [get]}",
			`rules[0]: {apiGroups: [""], nonResourceURLs: [/x], verbs: [get]}`,
			`rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular ` +
				"resources and non-resource URLs"},
	})
}

func TestStoredAggregationUpdateRules(t *testing.T) {
	k := kindtest.New(t, "clusterroles.v1.rbac.authorization.k8s.io", mixedRole).With(
		"aggregationRule: {clusterRoleSelectors: [{matchExpressions: [{key: a, operator: In, values: [b]}]}]}")
	k.Update(kindtest.Rules{
		{"an aggregation has selectors", "aggregationRule.clusterRoleSelectors: [{matchLabels: {a: b}}]",
			"aggregationRule: {}",
			"aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector " +
				"required if aggregationRule is non-nil"},
	})
}

const binding = `roleRef: {kind: Role, name: r}
subjects: [{kind: User, name: u}]`

func TestBindingInV1alpha1(t *testing.T) {
	kindtest.New(t, "rolebindings.v1.rbac.authorization.k8s.io", binding).Converted("v1alpha1", kindtest.Cases{
		{"a user has a version", "",
			"subjects[0].apiVersion: rbac.authorization.k8s.io/v1alpha1; subjects[0].apiGroup: null"},
		{"a service account has one", "subjects: [{kind: ServiceAccount, name: a, namespace: b}]",
			"subjects[0].apiVersion: v1"},
	})
}

const clusterBinding = `roleRef: {kind: ClusterRole, name: r}
subjects: [{kind: Group, name: g}]`

func TestClusterBindingInV1alpha1(t *testing.T) {
	k := kindtest.New(t, "clusterrolebindings.v1.rbac.authorization.k8s.io", clusterBinding)
	k.Converted("v1alpha1", kindtest.Cases{
		{"a group has a version", "", "subjects[0].apiVersion: rbac.authorization.k8s.io/v1alpha1"},
	})
}
