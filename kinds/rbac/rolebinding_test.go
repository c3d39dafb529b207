package rbac_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const roleBinding = `roleRef: {kind: Role, name: r}
subjects: [{kind: User, name: u}]`

func TestRoleBindingRules(t *testing.T) {
	kindtest.New(t, "rolebindings.v1.rbac.authorization.k8s.io", roleBinding).Create(kindtest.Rules{
		{"group of the role", "roleRef.apiGroup: rbac.authorization.k8s.io", "roleRef.apiGroup: a.b",
			`roleRef.apiGroup: Unsupported value: "a.b": supported values: "rbac.authorization.k8s.io"`},
		{"kind of the role", "roleRef.kind: ClusterRole", "roleRef.kind: Other",
			`roleRef.kind: Unsupported value: "Other": supported values: "Role", "ClusterRole"`},
		{"name of the role", `roleRef.name: "a:b"`, `roleRef.name: ""`, "roleRef.name: Required value"},
		{"form of the role", "roleRef.name: a", "roleRef.name: a/b",
			`roleRef.name: Invalid value: "a/b": may not contain '/'`},
		{"name of a subject", `subjects[0].name: "system:a"`, `subjects[0].name: ""`,
			"subjects[0].name: Required value"},
		{"kind of a subject", "subjects: [{kind: Group, name: g}]", "subjects: [{kind: Other, name: g}]",
			`subjects[0].kind: Unsupported value: "Other": supported values: "ServiceAccount", "User", "Group"`},
		{"group of a user", "subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: u}]",
			"subjects: [{apiGroup: a.b, kind: User, name: u}]",
			`subjects[0].apiGroup: Unsupported value: "a.b": supported values: "rbac.authorization.k8s.io"`},
		{"group of a group", "subjects: [{kind: Group, name: g}]",
			"subjects: [{apiGroup: a.b, kind: Group, name: g}]",
			`subjects[0].apiGroup: Unsupported value: "a.b": supported values: "rbac.authorization.k8s.io"`},
		{"name of a service account", "subjects: [{kind: ServiceAccount, name: a, namespace: b}]",
			"subjects: [{kind: ServiceAccount, name: A, namespace: b}]",
			`subjects[0].name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower ` +
				"case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"group of a service account", "subjects: [{kind: ServiceAccount, name: a, namespace: b}]",
			"subjects: [{apiGroup: a.b, kind: ServiceAccount, name: a, namespace: b}]",
			`subjects[0].apiGroup: Unsupported value: "a.b": supported values: ""`},
	})
}

func TestRoleBindingUpdateRules(t *testing.T) {
	kindtest.New(t, "rolebindings.v1.rbac.authorization.k8s.io", roleBinding).Update(kindtest.Rules{
		{"roleRef", "subjects: []", "roleRef.name: s",
			`roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"s"}: ` +
				"field is immutable"},
		{"subject", "subjects: [{kind: Group, name: g}]", `subjects[0].name: ""`, "subjects[0].name: Required value"},
	})
}

func TestRoleBindingCreated(t *testing.T) {
	kindtest.New(t, "rolebindings.v1.rbac.authorization.k8s.io", roleBinding).Created(kindtest.Cases{
		{"groups", "",
			"roleRef.apiGroup: rbac.authorization.k8s.io; subjects[0].apiGroup: rbac.authorization.k8s.io"},
		{"service account", "subjects: [{kind: ServiceAccount, name: a, namespace: b}]",
			"subjects[0].apiGroup: null"},
	})
}

func TestRoleBindingColumns(t *testing.T) {
	k := kindtest.New(t, "rolebindings.v1.rbac.authorization.k8s.io", roleBinding)
	k.Columns("Name|Role|Age|(Users)|(Groups)|(ServiceAccounts)", kindtest.Cases{
		{"user", "", "x|Role/r|60m|u||"},
		{"all",
			"subjects: [{kind: User, name: u}, {kind: Group, name: g}, {kind: User, name: v}, {kind: " +
				"ServiceAccount, namespace: a, name: b}]", "x|Role/r|60m|u, v|g|a/b"},
	})
}
