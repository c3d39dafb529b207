package conformance

import (
	"context"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server"
)

// grantCluster grants a user verbs on resources of all groups.
func grantCluster(t *testing.T, c kubernetes.Interface, user string, verbs []string, resources ...string) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "granted-"},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: resources, Verbs: verbs}}}
	role, err := c.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{GenerateName: "granted-"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// as returns a client configuration that impersonates another user.
func as(c *rest.Config, user string) *rest.Config {
	c = rest.CopyConfig(c)
	c.Impersonate.UserName = user
	return c
}

// TestApplyThatCreatesRequiresCreate checks that an apply which creates an object requires create
// besides patch for every kind, and writes nothing before it is authorized.
func TestApplyThatCreatesRequiresCreate(t *testing.T) {
	srv, admin := startWith(t, server.Options{Admission: server.Admission{EnablePlugins: []string{"NamespaceAutoProvision"}, DisablePlugins: []string{"NamespaceLifecycle"}}})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	define(t, c, newConverter(t).paints("v1", "v1"))
	grantCluster(t, admin, "alice", []string{"patch", "update"}, "*", "*/status")
	alice := kubernetes.NewForConfigOrDie(as(srv.RESTConfig(), "alice")).RESTClient()
	apply := func(path, object string) error {
		return alice.Patch(types.ApplyYAMLPatchType).AbsPath(path).Param("fieldManager", "alice").Param("force", "true").Body([]byte(object)).Do(t.Context()).Error()
	}
	for _, tt := range []struct{ path, object, want string }{
		{"/api/v1/namespaces/default/configmaps/x", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}`,
			`configmaps "x" is forbidden: User "alice" cannot create resource "configmaps" in API group "" in the namespace "default"`},
		{"/api/v1/namespaces/new/configmaps/x", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}`,
			`configmaps "x" is forbidden: User "alice" cannot create resource "configmaps" in API group "" in the namespace "new"`},
		{"/api/v1/namespaces/x", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"x"}}`,
			`namespaces "x" is forbidden: User "alice" cannot create resource "namespaces" in API group "" at the cluster scope`},
		{"/apis/art.example.com/v1/namespaces/default/paints/x", `{"apiVersion":"art.example.com/v1","kind":"Paint","metadata":{"name":"x"},"spec":{"color":"red"}}`,
			`paints.art.example.com "x" is forbidden: User "alice" cannot create resource "paints" in API group "art.example.com" in the namespace "default"`},
		{"/api/v1/namespaces/default/services/x/status", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"ports":[{"port":1}]}}`,
			`services "x" is forbidden: User "alice" cannot create resource "services/status" in API group "" in the namespace "default"`},
	} {
		if err := apply(tt.path, tt.object); !apierrors.IsForbidden(err) || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.path, err, tt.want)
		}
		raw := admin.CoreV1().RESTClient().Get().AbsPath(strings.TrimSuffix(tt.path, "/status")).Do(t.Context())
		if err := raw.Error(); !apierrors.IsNotFound(err) {
			t.Errorf("%s was created: %v", tt.path, err)
		}
	}
	if _, err := admin.CoreV1().Namespaces().Get(t.Context(), "new", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace of a creation that is not authorized: %v", err)
	}
	eventually(t, "an apply to an object that is there", func(context.Context) (bool, error) {
		const object = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kube-root-ca.crt","labels":{"a":"b"}}}`
		return apply("/api/v1/namespaces/default/configmaps/kube-root-ca.crt", object) == nil, nil
	})
	grantCluster(t, admin, "alice", []string{"create"}, "configmaps")
	if err := apply("/api/v1/namespaces/default/configmaps/x", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}`); err != nil {
		t.Errorf("with create: %v", err)
	}
	var code int
	alice.Get().AbsPath("/api/v1/namespaces/default/configmaps/x").Do(t.Context()).StatusCode(&code)
	if code != http.StatusForbidden {
		t.Errorf("alice gets what she may only write: %d", code)
	}
}
