package api

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// In v1alpha1 subjects have the version of their group besides its name.

func roleBindingV1alpha1() Version {
	return storedOnly(unlike(rbacv1alpha1.SchemeGroupVersion,
		func(hub *rbacv1.RoleBinding, old *rbacv1alpha1.RoleBinding) {
			subjectsToHub(hub.Subjects, old.Subjects)
		},
		func(old *rbacv1alpha1.RoleBinding, hub *rbacv1.RoleBinding) {
			subjectsFromHub(old.Subjects, hub.Subjects)
		}))
}

func clusterRoleBindingV1alpha1() Version {
	return storedOnly(unlike(rbacv1alpha1.SchemeGroupVersion,
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
			hub[i].APIGroup = s.APIVersion // validation tells what is wrong with it
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
