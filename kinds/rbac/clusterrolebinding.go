package rbac

import (
	"reflect"

	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
)

// ClusterRoleBinding describes the kind ClusterRoleBinding, which grants a ClusterRole to
// subjects.
func ClusterRoleBinding() *api.Resource {
	return binding(api.Kind[*rbacv1.ClusterRoleBinding]{
		Names: api.Names{Name: "clusterrolebindings", Singular: "clusterrolebinding", Kind: "ClusterRoleBinding"},
		Versions: api.WithOlderVersions(api.Served(rbacv1.SchemeGroupVersion),
			api.SameFields[rbacv1.ClusterRoleBinding, rbacv1beta1.ClusterRoleBinding](rbacv1beta1.SchemeGroupVersion),
			bindingV1alpha1(clusterGrant, clusterSubjects)),
	}, clusterGrant, clusterRoleBindingRules, reflect.TypeFor[rbacv1beta1.ClusterRoleBinding](), "clusterRoleBinding")
}

func clusterGrant(b *rbacv1.ClusterRoleBinding) grant { return grant{&b.RoleRef, b.Subjects} }

func clusterSubjects(b *rbacv1alpha1.ClusterRoleBinding) []rbacv1alpha1.Subject { return b.Subjects }
