package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// ClusterRole describes the kind ClusterRole, a set of permissions in the whole cluster.
func ClusterRole() *api.Resource {
	return api.NewResource(api.Kind[*rbacv1.ClusterRole]{
		Names: api.Names{Name: "clusterroles", Singular: "clusterrole", Kind: "ClusterRole"},
		Versions: api.WithOlderVersions(api.Served(rbacv1.SchemeGroupVersion),
			api.SameFields[rbacv1.ClusterRole, rbacv1beta1.ClusterRole](rbacv1beta1.SchemeGroupVersion),
			api.StoredOnly(api.SameFields[rbacv1.ClusterRole, rbacv1alpha1.ClusterRole](rbacv1alpha1.SchemeGroupVersion))),
		Storage:             api.Storage{Prefix: "clusterroles"},
		ValidateName:        validation.WholeSegmentName,
		AllowCreateOnUpdate: true,
		Checks: api.Checks(
			api.Metadata,
			api.RevalidatedMetadata,
			api.OnCreate(api.Rules(clusterRoleRules)),
			api.Changes(clusterRoleChanges),
			api.Declared,
		),
	})
}
