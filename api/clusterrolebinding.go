package api

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
)

// clusterRoleBinding is who has a ClusterRole.
func clusterRoleBinding() *Resource {
	return &Resource{
		Name: "clusterrolebindings", Singular: "clusterrolebinding", Kind: "ClusterRoleBinding",
		Versions: older(served(rbacv1.SchemeGroupVersion),
			alike[rbacv1.ClusterRoleBinding, rbacv1beta1.ClusterRoleBinding](rbacv1beta1.SchemeGroupVersion),
			clusterRoleBindingV1alpha1()),
		New:    func() Object { return &rbacv1.ClusterRoleBinding{} },
		Rows:   &Table{Columns: clusterRoleBindingColumns, Cells: clusterRoleBindingCells},
		Prefix: "clusterrolebindings",
		Default: func(obj Object) {
			b := obj.(*rbacv1.ClusterRoleBinding)
			defaultRoleRef(&b.RoleRef, b.Subjects)
		},
		ValidateCreate: rulesOf(clusterRoleBindingRules),
		ValidateUpdate: changesOf(func(at *place, is, was *rbacv1.ClusterRoleBinding) {
			clusterRoleBindingRules(at, is)
			sameRole(at, is.RoleRef, was.RoleRef)
		}),
		AllowCreateOnUpdate: true,
		ValidateName:        segmentName,
	}
}
