package api

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func clusterRoleBindingColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(),
		// The text of v1beta1, as in kube-apiserver.
		textColumn("Role", doc(rbacv1beta1.ClusterRoleBinding{}, "roleRef")),
		ageColumn(),
		wide(textColumn("Users", "Users in the clusterRoleBinding")),
		wide(textColumn("Groups", "Groups in the clusterRoleBinding")),
		wide(textColumn("ServiceAccounts", "ServiceAccounts in the clusterRoleBinding")),
	}
}

func clusterRoleBindingCells(obj Object) []any {
	b := obj.(*rbacv1.ClusterRoleBinding)
	users, groups, accounts := subjectCells(b.Subjects)
	return []any{b.Name, b.RoleRef.Kind + "/" + b.RoleRef.Name, Age(b), users, groups, accounts}
}
