package rbac_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const role = `rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`

func TestRoleRules(t *testing.T) {
	kindtest.New(t, "roles.v1.rbac.authorization.k8s.io", role).Create(kindtest.Rules{
		{"name", `metadata.name: "system:A b"`, "metadata.name: a/b",
			`metadata.name: Invalid value: "a/b": may not contain '/'`},
		{"verbs", "rules[0].verbs: ['*']", "rules[0].verbs: []", "rules[0].verbs: Required value"},
		{"apiGroups", "rules[0].apiGroups: ['*']", "rules[0].apiGroups: []",
			"rules[0].apiGroups: Required value: resource rules must supply at least one api group"},
		{"resources", "rules[0].resources: [pods/log]", "rules[0].resources: []",
			"rules[0].resources: Required value: resource rules must supply at least one resource"},
		{"paths", "rules[0].resourceNames: [a]", "rules[0]: {nonResourceURLs: [/a], verbs: [get]}",
			`rules[0].nonResourceURLs: Invalid value: ["/a"]: namespaced rules cannot apply to non-resource URLs`},
	})
}

func TestRoleUpdateRules(t *testing.T) {
	kindtest.New(t, "roles.v1.rbac.authorization.k8s.io", role).Update(kindtest.Rules{
		{"verbs", "rules: []", "rules[0].verbs: []", "rules[0].verbs: Required value"},
	})
}

func TestRoleColumns(t *testing.T) {
	kindtest.New(t, "roles.v1.rbac.authorization.k8s.io", role).Columns("Name|Created At", kindtest.Cases{
		{"any", "", "x|2026-05-04T11:00:00Z"},
	})
}
