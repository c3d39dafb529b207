package api

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
)

// role is a set of permissions in a namespace.
func role() *Resource {
	return &Resource{
		Name: "roles", Singular: "role", Kind: "Role",
		Namespaced: true,
		Versions: older(served(rbacv1.SchemeGroupVersion),
			alike[rbacv1.Role, rbacv1beta1.Role](rbacv1beta1.SchemeGroupVersion),
			storedOnly(alike[rbacv1.Role, rbacv1alpha1.Role](rbacv1alpha1.SchemeGroupVersion))),
		New:    func() Object { return &rbacv1.Role{} },
		Prefix: "roles",
		// No rules are stored as none at all.
		PrepareCreate:       func(obj Object) { noItems(&obj.(*rbacv1.Role).Rules) },
		PrepareUpdate:       func(obj, _ Object) { noItems(&obj.(*rbacv1.Role).Rules) },
		Validate:            rulesOf(roleRules),
		AllowCreateOnUpdate: true,
		ValidateName:        segmentName,
	}
}
