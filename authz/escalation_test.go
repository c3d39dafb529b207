package authz_test

import (
	"context"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server"
)

func policy(verbs, group, resource string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: strings.Split(verbs, ","), APIGroups: []string{group}, Resources: strings.Split(resource, ","), ResourceNames: names}
}

func subject(name string) []rbacv1.Subject {
	return []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}}
}

func ref(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}

// TestEscalation checks what mallory may grant, who may write all roles and bindings but holds no
// other permission than reading config maps.
func TestEscalation(t *testing.T) {
	s, err := server.Start(t.Context(), server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	as := func(user string) *kubernetes.Clientset {
		config := s.RESTConfig()
		if user != "" {
			config.Impersonate = rest.ImpersonationConfig{UserName: user}
		}
		c, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	admin, mallory := as("").RbacV1(), as("mallory").RbacV1()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	writer := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "writer"}, Rules: []rbacv1.PolicyRule{
		policy("get,list,create,update,patch,delete", rbacv1.GroupName, "roles,clusterroles,rolebindings,clusterrolebindings"),
		policy("get,list", "", "configmaps"),
		policy("bind", rbacv1.GroupName, "clusterroles", "bindable"),
		policy("escalate", rbacv1.GroupName, "clusterroles", "growing"),
	}}
	create := metav1.CreateOptions{}
	_, err = admin.ClusterRoles().Create(ctx, writer, create)
	must(err)
	_, err = admin.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "writer"}, RoleRef: ref("ClusterRole", "writer"), Subjects: subject("mallory")}, create)
	must(err)
	secrets := []rbacv1.PolicyRule{policy("get", "", "secrets")}
	for _, name := range []string{"bindable", "growing", "powerful"} {
		_, err = admin.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: secrets}, create)
		must(err)
	}
	_, err = admin.RoleBindings("default").Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, RoleRef: ref("ClusterRole", "powerful"), Subjects: subject("alice")}, create)
	must(err)

	role := func(name string, rules ...rbacv1.PolicyRule) error {
		_, err := mallory.Roles("default").Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, create)
		return err
	}
	clusterRole := func(r *rbacv1.ClusterRole) error {
		_, err := mallory.ClusterRoles().Create(ctx, r, create)
		return err
	}
	bind := func(name string, to rbacv1.RoleRef) error {
		_, err := mallory.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: to, Subjects: subject("mallory")}, create)
		return err
	}
	patch := func(name, body string) error {
		_, err := mallory.ClusterRoles().Patch(ctx, name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
		return err
	}
	const missing = "is attempting to grant RBAC permissions not currently held"
	for _, c := range []struct {
		what    string
		do      func() error
		refused string
	}{
		{"a role of what one has", func() error { return role("a", policy("get", "", "configmaps")) }, ""},
		{"a role of more", func() error { return role("b", secrets...) }, missing + ":\n" + `{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`},
		{"a role of every verb", func() error { return role("c", policy("*", "", "configmaps")) }, missing},
		{"a role for everything", func() error { return role("d", policy("get", "*", "*")) }, missing},
		{"a role to escalate", func() error { return role("e", policy("escalate", rbacv1.GroupName, "roles")) }, missing},
		{"a role to impersonate", func() error { return role("f", policy("impersonate", "", "users")) }, missing},
		{"a dry run", func() error {
			_, err := mallory.Roles("default").Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "g"}, Rules: secrets}, metav1.CreateOptions{DryRun: []string{"All"}})
			return err
		}, missing},
		{"paths", func() error {
			return clusterRole(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "h"}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}}}})
		}, missing},
		{"aggregation", func() error {
			return clusterRole(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "i"}, AggregationRule: &rbacv1.AggregationRule{
				ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"a": "b"}}}}})
		}, "must have cluster-admin privileges to use the aggregationRule"},
		{"aggregation of one's own role", func() error {
			return patch("writer", `{"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}}`)
		}, "must have cluster-admin privileges to use the aggregationRule"},
		{"a part of a default role", func() error {
			return clusterRole(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "j", Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}}, Rules: secrets})
		}, missing},
		{"a part that is made one by a label", func() error {
			return patch("powerful", `{"metadata":{"labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}}}`)
		}, missing},
		{"more for one's own role", func() error {
			return patch("writer", `{"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]}`)
		}, missing},
		{"less for another's role", func() error { return patch("powerful", `{"rules":[]}`) }, ""},
		{"and back again", func() error {
			return patch("powerful", `{"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["secrets"]}]}`)
		}, missing},
		{"a role that may grow", func() error {
			return patch("growing", `{"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]}`)
		}, ""},
		{"a binding to it", func() error { return bind("k", ref("ClusterRole", "growing")) }, missing},
		{"a binding to cluster-admin", func() error { return bind("l", ref("ClusterRole", "cluster-admin")) }, missing},
		{"a binding that may be", func() error { return bind("m", ref("ClusterRole", "bindable")) }, ""},
		{"a binding to what is not there", func() error { return bind("n", ref("ClusterRole", "none")) }, `clusterrolebindings.rbac.authorization.k8s.io "none" not found`},
		{"being added to another's binding", func() error {
			_, err := mallory.RoleBindings("default").Patch(ctx, "theirs", types.MergePatchType,
				[]byte(`{"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"mallory"}]}`), metav1.PatchOptions{})
			return err
		}, ""}, // allowed, because the role was emptied above
	} {
		err := c.do()
		switch {
		case c.refused == "" && err != nil:
			t.Errorf("%s: %v", c.what, err)
		case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: got %v, want %s", c.what, err, c.refused)
		case c.refused != "" && !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
			t.Errorf("%s: not forbidden but %v", c.what, err)
		}
	}
	// Rejected writes grant nothing, accepted ones take effect at once.
	for path, allowed := range map[string]bool{"/api/v1/nodes": false, "/api/v1/namespaces/x/secrets/s": true, "/metrics": false} {
		if got := review(t, as(""), "mallory", "none", "GET", path); got.Allowed != allowed {
			t.Errorf("%s: %+v", path, got)
		}
	}
}
