package api

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
)

// clusterRoleBinding is who has a ClusterRole.
func clusterRoleBinding() *Resource {
	return &Resource{
		Name: "clusterrolebindings", Singular: "clusterrolebinding", Kind: "ClusterRoleBinding",
		Versions:            readable(served(rbacv1.SchemeGroupVersion), rbacv1beta1.SchemeGroupVersion),
		New:                 func() Object { return &rbacv1.ClusterRoleBinding{} },
		Prefix:              "clusterrolebindings",
		AllowCreateOnUpdate: true,
		ValidateName:        segmentName,
	}
}
