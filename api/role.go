package api

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
)

// role is a set of permissions in a namespace.
func role() *Resource {
	return &Resource{
		Name: "roles", Singular: "role", Kind: "Role",
		Namespaced:          true,
		Versions:            readable(served(rbacv1.SchemeGroupVersion), rbacv1beta1.SchemeGroupVersion),
		New:                 func() Object { return &rbacv1.Role{} },
		Prefix:              "roles",
		AllowCreateOnUpdate: true,
		ValidateName:        segmentName,
	}
}
