package rbac

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// RoleBinding describes the kind RoleBinding, which grants a role in a namespace to subjects.
func RoleBinding() *api.Resource {
	return api.NewResource(api.Kind[*rbacv1.RoleBinding]{
		Names: api.Names{Name: "rolebindings", Singular: "rolebinding", Kind: "RoleBinding", Namespaced: true},
		Versions: api.WithOlderVersions(api.Served(rbacv1.SchemeGroupVersion),
			api.SameFields[rbacv1.RoleBinding, rbacv1beta1.RoleBinding](rbacv1beta1.SchemeGroupVersion),
			roleBindingV1alpha1()),
		Default: func(b *rbacv1.RoleBinding) {
			defaultRoleRef(&b.RoleRef, b.Subjects)
		},
		Storage: api.Storage{Prefix: "rolebindings"},
		Create:  api.CreateStrategy[*rbacv1.RoleBinding]{ValidateName: validation.WholeSegmentName, ValidateOnCreate: validation.Rules(roleBindingRules)},
		Update: api.UpdateStrategy[*rbacv1.RoleBinding]{
			AllowCreateOnUpdate: true,
			RevalidateMetadata:  true,
			ValidateUpdate: validation.Changes(func(at *validation.Path, obj, old *rbacv1.RoleBinding) {
				roleBindingRules(at, obj)
				immutableRoleRef(at, obj.RoleRef, old.RoleRef)
			}),
		},
		Table: api.Table[*rbacv1.RoleBinding]{Columns: roleBindingColumns, Cells: roleBindingCells},
	})
}

func roleBindingColumns() []metav1.TableColumnDefinition {
	return bindingColumns(table.Doc(rbacv1beta1.RoleBinding{}, "roleRef"), "roleBinding")
}

func roleBindingCells(b *rbacv1.RoleBinding) []any { return bindingCells(b, b.RoleRef, b.Subjects) }

// bindingColumns returns the columns of a kind of binding. The description of the role is that of
// v1beta1, as in kube-apiserver.
func bindingColumns(roleDescription, kind string) []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		table.NameColumn(),
		table.TextColumn("Role", roleDescription),
		table.AgeColumn(),
		table.Wide(table.TextColumn("Users", "Users in the "+kind)),
		table.Wide(table.TextColumn("Groups", "Groups in the "+kind)),
		table.Wide(table.TextColumn("ServiceAccounts", "ServiceAccounts in the "+kind)),
	}
}

func bindingCells(b api.Object, role rbacv1.RoleRef, subjects []rbacv1.Subject) []any {
	users, groups, accounts := subjectCells(subjects)
	return []any{b.GetName(), role.Kind + "/" + role.Name, table.Age(b), users, groups, accounts}
}

// subjectCells returns the cells Users, Groups and ServiceAccounts.
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

// In v1alpha1, subjects have an apiVersion in place of an apiGroup.

func roleBindingV1alpha1() api.Version {
	return api.StoredOnly(api.ConvertedVersion(rbacv1alpha1.SchemeGroupVersion,
		func(hub *rbacv1.RoleBinding, old *rbacv1alpha1.RoleBinding) {
			subjectsToHub(hub.Subjects, old.Subjects)
		},
		func(old *rbacv1alpha1.RoleBinding, hub *rbacv1.RoleBinding) {
			subjectsFromHub(old.Subjects, hub.Subjects)
		}))
}

func clusterRoleBindingV1alpha1() api.Version {
	return api.StoredOnly(api.ConvertedVersion(rbacv1alpha1.SchemeGroupVersion,
		func(hub *rbacv1.ClusterRoleBinding, old *rbacv1alpha1.ClusterRoleBinding) {
			subjectsToHub(hub.Subjects, old.Subjects)
		},
		func(old *rbacv1alpha1.ClusterRoleBinding, hub *rbacv1.ClusterRoleBinding) {
			subjectsFromHub(old.Subjects, hub.Subjects)
		}))
}

func subjectsToHub(hub []rbacv1.Subject, old []rbacv1alpha1.Subject) {
	for i, s := range old {
		switch gv, err := schema.ParseGroupVersion(s.APIVersion); {
		case s.APIVersion == "" && s.Kind != rbacv1.ServiceAccountKind:
			hub[i].APIGroup = rbacv1.GroupName
		case err != nil:
			hub[i].APIGroup = s.APIVersion // an invalid group, which validation refuses
		default:
			hub[i].APIGroup = gv.Group
		}
	}
}

func subjectsFromHub(old []rbacv1alpha1.Subject, hub []rbacv1.Subject) {
	for i, s := range hub {
		switch s.APIGroup {
		case rbacv1.GroupName:
			old[i].APIVersion = rbacv1alpha1.SchemeGroupVersion.String()
		case "":
			old[i].APIVersion = "v1"
		default:
			old[i].APIVersion = s.APIGroup + "/v1"
		}
	}
}
