package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// Role describes the kind Role, a set of permissions in a namespace.
func Role() *api.Resource {
	return api.NewResource(api.Kind[*rbacv1.Role]{
		Names: api.Names{Name: "roles", Singular: "role", Kind: "Role", Namespaced: true},
		Versions: api.WithOlderVersions(api.Served(rbacv1.SchemeGroupVersion),
			api.SameFields[rbacv1.Role, rbacv1beta1.Role](rbacv1beta1.SchemeGroupVersion),
			api.StoredOnly(api.SameFields[rbacv1.Role, rbacv1alpha1.Role](rbacv1alpha1.SchemeGroupVersion))),
		Storage:             api.Storage{Prefix: "roles"},
		ValidateName:        validation.WholeSegmentName,
		AllowCreateOnUpdate: true,
		Checks:              api.Checks(api.Metadata, api.RevalidatedMetadata, api.Rules(roleRules), api.Declared),
	})
}
