package api

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func roleBindingColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(),
		// The text of v1beta1, as in kube-apiserver.
		textColumn("Role", doc(rbacv1beta1.RoleBinding{}, "roleRef")),
		ageColumn(),
		wide(textColumn("Users", "Users in the roleBinding")),
		wide(textColumn("Groups", "Groups in the roleBinding")),
		wide(textColumn("ServiceAccounts", "ServiceAccounts in the roleBinding")),
	}
}

func roleBindingCells(obj Object) []any {
	b := obj.(*rbacv1.RoleBinding)
	users, groups, accounts := subjectCells(b.Subjects)
	return []any{b.Name, b.RoleRef.Kind + "/" + b.RoleRef.Name, Age(b), users, groups, accounts}
}

// subjectCells lists those who are given a role, by what they are.
func subjectCells(subjects []rbacv1.Subject) (users, groups, accounts string) {
	var u, g, a []string
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.UserKind:
			u = append(u, s.Name)
		case rbacv1.GroupKind:
			g = append(g, s.Name)
		case rbacv1.ServiceAccountKind:
			a = append(a, s.Namespace+"/"+s.Name)
		}
	}
	return strings.Join(u, ", "), strings.Join(g, ", "), strings.Join(a, ", ")
}
