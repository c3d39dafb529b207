package server

import (
	"context"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/server/bootstrap"
)

// TestDefaultRolesAreReconciled changes default roles and bindings, and checks that the
// next start restores missing permissions, keeps added ones, and does not change objects
// whose reconciliation is disabled.
func TestDefaultRolesAreReconciled(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	run := func(do func(c *kubernetes.Clientset)) {
		t.Helper()
		s, err := Start(ctx, Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Stop(context.WithoutCancel(ctx)); err != nil {
				t.Error(err)
			}
		}()
		c, err := kubernetes.NewForConfig(s.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		do(c)
	}
	const added = "example.com"
	more := rbacv1.PolicyRule{APIGroups: []string{added}, Resources: []string{"things"}, Verbs: []string{"get"}}
	other := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "others"}
	run(func(c *kubernetes.Clientset) {
		roles, bindings := c.RbacV1().ClusterRoles(), c.RbacV1().ClusterRoleBindings()
		role := func(name string, change func(*rbacv1.ClusterRole)) {
			t.Helper()
			r, err := roles.Get(ctx, name, metav1.GetOptions{})
			if err == nil {
				change(r)
				_, err = roles.Update(ctx, r, metav1.UpdateOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		role("system:discovery", func(r *rbacv1.ClusterRole) { r.Rules = []rbacv1.PolicyRule{more} })
		role("system:basic-user", func(r *rbacv1.ClusterRole) {
			r.Rules, r.Annotations[rbacv1.AutoUpdateAnnotationKey] = nil, "false"
		})
		b, err := bindings.Get(ctx, "system:discovery", metav1.GetOptions{})
		if err == nil {
			b.Subjects = []rbacv1.Subject{other}
			_, err = bindings.Update(ctx, b, metav1.UpdateOptions{})
		}
		if err == nil {
			err = bindings.Delete(ctx, "system:basic-user", metav1.DeleteOptions{})
		}
		if err == nil { // one of another role, which is made anew
			err = bindings.Delete(ctx, "system:node-proxier", metav1.DeleteOptions{})
		}
		if err == nil {
			_, err = bindings.Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "system:node-proxier"},
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}}, metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	run(func(c *kubernetes.Clientset) {
		roles, bindings := c.RbacV1().ClusterRoles(), c.RbacV1().ClusterRoleBindings()
		r, err := roles.Get(ctx, "system:discovery", metav1.GetOptions{})
		if err != nil || len(r.Rules) < 2 || r.Rules[0].APIGroups[0] != added || !strings.Contains(r.String(), "/openapi/*") {
			t.Errorf("discovery: %+v, %v", r, err)
		}
		r, err = roles.Get(ctx, "system:basic-user", metav1.GetOptions{})
		if err != nil || len(r.Rules) != 0 {
			t.Errorf("a role without reconciliation: %+v, %v", r, err)
		}
		b, err := bindings.Get(ctx, "system:discovery", metav1.GetOptions{})
		if err != nil || len(b.Subjects) != 2 || b.Subjects[0] != other {
			t.Errorf("subjects: %+v, %v", b, err)
		}
		if _, err = bindings.Get(ctx, "system:basic-user", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
		b, err = bindings.Get(ctx, "system:node-proxier", metav1.GetOptions{})
		if err != nil || b.RoleRef.Name != "system:node-proxier" || len(b.Subjects) != 1 {
			t.Errorf("a binding of another role: %+v, %v", b, err)
		}
	})
}

// TestAuthorizationOptions checks the decisions of the modes that the options choose.
func TestAuthorizationOptions(t *testing.T) {
	for fault, a := range map[string]Authorization{
		"":                                    {Modes: []string{"AlwaysDeny", "RBAC"}},
		"is not a valid mode":                 {Modes: []string{"Magic"}},
		"more than once":                      {Modes: []string{"RBAC", "RBAC"}},
		"--authorization-policy-file":         {Modes: []string{"ABAC"}},
		"must have ABAC":                      {PolicyFile: "f"},
		"--authorization-webhook-config-file": {Modes: []string{"Webhook"}},
		"must have Webhook":                   {WebhookConfigFile: "f"},
		"neither v1 nor v1beta1":              {WebhookVersion: "v2"},
		"can not be specified when":           {ConfigFile: "f", Modes: []string{"RBAC"}},
	} {
		err := Options{Authorization: a}.Validate()
		if (err == nil) != (fault == "") || err != nil && !strings.Contains(err.Error(), fault) {
			t.Errorf("%+v: got %v, want %q", a, err, fault)
		}
	}
}

// TestBootstrapResources checks that the resources whose schemas are compiled early exist.
func TestBootstrapResources(t *testing.T) {
	builtIn, err := Options{}.builtInKinds(features.Default(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, gr := range bootstrap.Resources() {
		if !slices.ContainsFunc(builtIn.resources, func(r *api.Resource) bool { return r.Name == gr.Resource && r.Versions[0].Group == gr.Group }) {
			t.Errorf("there is no %s", gr)
		}
	}
}

// TestSharedKinds checks that servers of one configuration share their kinds, and those of others do not.
func TestSharedKinds(t *testing.T) {
	kinds := func(o Options) *builtInKinds {
		t.Helper()
		k, err := o.builtInKinds(features.Default(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	first := kinds(Options{})
	for name, o := range map[string]Options{
		"another size":     {Limits: Limits{MaxObjectBytes: 1 << 20}},
		"another encoding": {Etcd: Etcd{MediaType: "application/json"}},
		"another choice":   {RuntimeConfig: map[string]string{"api/alpha": "true"}},
		"another release":  {Emulation: Emulation{Version: "1.36"}},
	} {
		if kinds(o) == first {
			t.Errorf("%s: the same kinds", name)
		}
	}
	alpha := func() *builtInKinds { return kinds(Options{RuntimeConfig: map[string]string{"api/alpha": "true"}}) }
	if once, again := alpha(), alpha(); once != again {
		t.Error("the same configuration, other kinds")
	}
}
