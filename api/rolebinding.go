package api

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
)

// roleBinding is who has a role in a namespace.
func roleBinding() *Resource {
	return &Resource{
		Name: "rolebindings", Singular: "rolebinding", Kind: "RoleBinding",
		Namespaced:          true,
		Versions:            readable(served(rbacv1.SchemeGroupVersion), rbacv1beta1.SchemeGroupVersion),
		New:                 func() Object { return &rbacv1.RoleBinding{} },
		Prefix:              "rolebindings",
		AllowCreateOnUpdate: true,
		ValidateName:        segmentName,
	}
}
