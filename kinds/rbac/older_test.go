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
