package api

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
)

// roleBinding is who has a role in a namespace.
func roleBinding() *Resource {
	return &Resource{
		Name: "rolebindings", Singular: "rolebinding", Kind: "RoleBinding",
		Namespaced: true,
		Versions: older(served(rbacv1.SchemeGroupVersion),
			alike[rbacv1.RoleBinding, rbacv1beta1.RoleBinding](rbacv1beta1.SchemeGroupVersion),
			roleBindingV1alpha1()),
		New:    func() Object { return &rbacv1.RoleBinding{} },
		Rows:   &Table{Columns: roleBindingColumns, Cells: roleBindingCells},
		Prefix: "rolebindings",
		Default: func(obj Object) {
			b := obj.(*rbacv1.RoleBinding)
			defaultRoleRef(&b.RoleRef, b.Subjects)
		},
		ValidateCreate: rulesOf(roleBindingRules),
		ValidateUpdate: changesOf(func(at *place, is, was *rbacv1.RoleBinding) {
			roleBindingRules(at, is)
			sameRole(at, is.RoleRef, was.RoleRef)
		}),
		AllowCreateOnUpdate: true,
		ValidateName:        segmentName,
	}
}
