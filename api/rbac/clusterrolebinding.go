package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// ClusterRoleBinding describes the kind ClusterRoleBinding, which grants a ClusterRole to
// subjects.
func ClusterRoleBinding() *api.Resource {
	return api.NewResource(api.Kind[*rbacv1.ClusterRoleBinding]{
		Names: api.Names{Name: "clusterrolebindings", Singular: "clusterrolebinding", Kind: "ClusterRoleBinding"},
		Versions: api.WithOlderVersions(api.Served(rbacv1.SchemeGroupVersion),
			api.SameFields[rbacv1.ClusterRoleBinding, rbacv1beta1.ClusterRoleBinding](rbacv1beta1.SchemeGroupVersion),
			clusterRoleBindingV1alpha1()),
		Default: func(b *rbacv1.ClusterRoleBinding) {
			defaultRoleRef(&b.RoleRef, b.Subjects)
		},
		Storage: api.Storage{Prefix: "clusterrolebindings"},
		Create:  api.CreateStrategy[*rbacv1.ClusterRoleBinding]{ValidateName: validation.WholeSegmentName, ValidateOnCreate: validation.Rules(clusterRoleBindingRules)},
		Update: api.UpdateStrategy[*rbacv1.ClusterRoleBinding]{
			AllowCreateOnUpdate: true,
			RevalidateMetadata:  true,
			ValidateUpdate: validation.Changes(func(at *validation.Path, obj, old *rbacv1.ClusterRoleBinding) {
				clusterRoleBindingRules(at, obj)
				immutableRoleRef(at, obj.RoleRef, old.RoleRef)
			}),
		},
		Table: api.Table[*rbacv1.ClusterRoleBinding]{Columns: clusterRoleBindingColumns, Cells: clusterRoleBindingCells},
	})
}

func clusterRoleBindingColumns() []metav1.TableColumnDefinition {
	return bindingColumns(table.Doc(rbacv1beta1.ClusterRoleBinding{}, "roleRef"), "clusterRoleBinding")
}

func clusterRoleBindingCells(b *rbacv1.ClusterRoleBinding) []any {
	return bindingCells(b, b.RoleRef, b.Subjects)
}
