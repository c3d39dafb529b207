package api

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
)

// clusterRole is a set of permissions in the whole cluster.
func clusterRole() *Resource {
	return &Resource{
		Name: "clusterroles", Singular: "clusterrole", Kind: "ClusterRole",
		Versions: older(served(rbacv1.SchemeGroupVersion),
			alike[rbacv1.ClusterRole, rbacv1beta1.ClusterRole](rbacv1beta1.SchemeGroupVersion),
			storedOnly(alike[rbacv1.ClusterRole, rbacv1alpha1.ClusterRole](rbacv1alpha1.SchemeGroupVersion))),
		New:    func() Object { return &rbacv1.ClusterRole{} },
		Prefix: "clusterroles",
		// No rules are stored as none at all.
		PrepareCreate:       func(obj Object) { noItems(&obj.(*rbacv1.ClusterRole).Rules) },
		PrepareUpdate:       func(obj, _ Object) { noItems(&obj.(*rbacv1.ClusterRole).Rules) },
		Validate:            rulesOf(clusterRoleRules),
		AllowCreateOnUpdate: true,
		ValidateName:        segmentName,
	}
}
