package rbac

import (
	"reflect"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// RoleBinding describes the kind RoleBinding, which grants a role in a namespace to subjects.
func RoleBinding() *api.Resource {
	return binding(api.Kind[*rbacv1.RoleBinding]{
		Names: api.Names{Name: "rolebindings", Singular: "rolebinding", Kind: "RoleBinding", Namespaced: true},
		Versions: api.WithOlderVersions(api.Served(rbacv1.SchemeGroupVersion),
			api.SameFields[rbacv1.RoleBinding, rbacv1beta1.RoleBinding](rbacv1beta1.SchemeGroupVersion),
			bindingV1alpha1(namespacedGrant, namespacedSubjects)),
	}, namespacedGrant, roleBindingRules, reflect.TypeFor[rbacv1beta1.RoleBinding](), "roleBinding")
}

func namespacedGrant(b *rbacv1.RoleBinding) grant { return grant{&b.RoleRef, b.Subjects} }

func namespacedSubjects(b *rbacv1alpha1.RoleBinding) []rbacv1alpha1.Subject { return b.Subjects }

// grant is the content of a binding of either kind.
type grant struct {
	role     *rbacv1.RoleRef
	subjects []rbacv1.Subject
}

// binding describes a kind of binding, of which k has the names and versions. As in kube-apiserver, its columns
// are described by v1beta1, and have a name of the kind of their own.
func binding[T api.Object](
	k api.Kind[T], grantOf func(T) grant, rules func(*validation.Path, T), described reflect.Type, nameInColumns string,
) *api.Resource {
	k.Default = func(b T) { grantOf(b).setDefaults() }
	k.Storage = api.Storage{Prefix: k.Names.Name}
	k.ValidateName, k.AllowCreateOnUpdate = validation.WholeSegmentName, true
	k.Checks = api.Checks(
		api.Metadata,
		api.Rules(rules),
		api.Changes(func(at *validation.Path, obj, old T) {
			validation.Immutable(at.Child("roleRef"), *grantOf(obj).role, *grantOf(old).role)
		}),
		api.RevalidatedMetadata,
		api.Declared,
	)
	inUsers, inGroups := "Users in the "+nameInColumns, "Groups in the "+nameInColumns
	inAccounts := "ServiceAccounts in the " + nameInColumns
	k.Table = api.Rows(func(row *table.Row, b T) {
		g := grantOf(b)
		users, groups, accounts := subjectCells(g.subjects)
		row.DescribedBy(described)
		row.Name(b.GetName())
		row.Text("Role", ".roleRef", g.role.Kind+"/"+g.role.Name)
		row.Age(b)
		row.Wide().Text("Users", inUsers, users)
		row.Wide().Text("Groups", inGroups, groups)
		row.Wide().Text("ServiceAccounts", inAccounts, accounts)
	})
	return api.NewResource(k)
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

// bindingV1alpha1 returns the version v1alpha1 of a kind of binding. Its subjects have an apiVersion in place of
// an apiGroup.
func bindingV1alpha1[Hub, Old any, H interface {
	*Hub
	api.Object
}, O interface {
	*Old
	api.Object
}](grantOf func(H) grant, subjects func(O) []rbacv1alpha1.Subject) api.Version {
	return api.StoredOnly(api.ConvertedVersion[Hub, Old, H, O](rbacv1alpha1.SchemeGroupVersion,
		func(hub *Hub, old *Old) { subjectsToHub(grantOf(hub).subjects, subjects(old)) },
		func(old *Old, hub *Hub) { subjectsFromHub(subjects(old), grantOf(hub).subjects) }))
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
