package server

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// changesOf lists the changes of an object as a user; "" is the administrator.
func changesOf(t *testing.T, s *Server, user, object string) []v1alpha1.Change {
	t.Helper()
	config := s.RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	list, err := dynamic.NewForConfigOrDie(config).Resource(v1alpha1.GroupVersion.WithResource("changes")).
		List(t.Context(), metav1.ListOptions{FieldSelector: "object=" + object})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]v1alpha1.Change, len(list.Items))
	for i := range list.Items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &out[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestLabChanges checks that changes are joined with the requests that made them, and that a user who may list changes sees the
// fields of those objects only that the user may get.
func TestLabChanges(t *testing.T) {
	s, c := startWithClient(t, Options{Lab: Lab{Enabled: true}})
	maps := c.CoreV1().ConfigMaps("default")
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Data: map[string]string{"k": "1"}}
	cm, err := maps.Create(t.Context(), cm, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cm.Data["k"] = "2"
	if _, err := maps.Update(t.Context(), cm, metav1.UpdateOptions{FieldManager: "second"}); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "historian"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"changes"}, Verbs: []string{"get", "list"}}}}
	if _, err := c.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "historian"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "historian"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "jane"}}}
	if _, err := c.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const object = "configmaps/default/c"
	var got []v1alpha1.Change
	eventually.True(t, "the request is kept", func() bool { // the lab keeps requests a moment after their end
		got = changesOf(t, s, "", object)
		return len(got) == 2 && got[1].Spec.Request != ""
	})
	spec := got[1].Spec
	if len(spec.Fields) != 1 || spec.Fields[0] != (v1alpha1.FieldChange{Path: "data.k", Before: `"1"`, After: `"2"`}) ||
		spec.Manager != "second" || spec.Verb != "update" || spec.User == "" || spec.Time == nil || spec.Hidden != "" {
		t.Errorf("got %+v", spec)
	}
	for _, change := range changesOf(t, s, "jane", object) {
		if change.Spec.Hidden != "you may not get configmaps/default/c" || change.Spec.Fields != nil {
			t.Errorf("without permission to get it: %+v", change.Spec)
		}
	}
	role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}})
	if _, err := c.RbacV1().ClusterRoles().Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, change := range changesOf(t, s, "jane", object) {
		if change.Spec.Hidden != "" || len(change.Spec.Fields) == 0 {
			t.Errorf("with permission: %+v", change.Spec)
		}
	}
}
