package rbac_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const clusterRoleBinding = `roleRef: {kind: ClusterRole, name: r}
subjects: [{kind: User, name: u}]`

func TestClusterRoleBindingRules(t *testing.T) {
	kindtest.New(t, "clusterrolebindings.v1.rbac.authorization.k8s.io", clusterRoleBinding).Create(kindtest.Rules{
		{"kind of the role", "roleRef.name: s", "roleRef.kind: Role",
			`roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"`},
		{"name of the role", "roleRef.name: s", `roleRef.name: ""`, "roleRef.name: Required value"},
		{"group of the role", "roleRef.apiGroup: rbac.authorization.k8s.io", "roleRef.apiGroup: a.b",
			`roleRef.apiGroup: Unsupported value: "a.b": supported values: "rbac.authorization.k8s.io"`},
		{"service account", "subjects: [{kind: ServiceAccount, name: a, namespace: b}]",
			"subjects: [{kind: ServiceAccount, name: a}]", "subjects[0].namespace: Required value"},
	})
}

func TestClusterRoleBindingUpdateRules(t *testing.T) {
	kindtest.New(t, "clusterrolebindings.v1.rbac.authorization.k8s.io", clusterRoleBinding).Update(kindtest.Rules{
		{"roleRef", "subjects: []", "roleRef.name: s",
			"roleRef: Invalid value: " +
				`{"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"s"}: field is immutable`},
	})
}

func TestClusterRoleBindingCreated(t *testing.T) {
	kindtest.New(t, "clusterrolebindings.v1.rbac.authorization.k8s.io", clusterRoleBinding).Created(kindtest.Cases{
		{"groups", "subjects: [{kind: Group, name: g}]",
			"roleRef.apiGroup: rbac.authorization.k8s.io; subjects[0].apiGroup: rbac.authorization.k8s.io"},
	})
}

func TestClusterRoleBindingColumns(t *testing.T) {
	k := kindtest.New(t, "clusterrolebindings.v1.rbac.authorization.k8s.io", clusterRoleBinding)
	k.Columns("Name|Role|Age|(Users)|(Groups)|(ServiceAccounts)", kindtest.Cases{
		{"user", "", "x|ClusterRole/r|60m|u||"},
		{"nobody", "subjects: []", "x|ClusterRole/r|60m|||"},
	})
}
