package server

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const mapsOf = "/api/v1/namespaces/default/configmaps"

// unreadableMap stores a ConfigMap that cannot be decoded, and waits until reads see it.
func (b *broken) unreadableMap(namespace, name string) {
	b.Helper()
	b.put("/registry/configmaps/"+namespace+"/"+name, "garbage")
	b.eventually("the cache has the value", func() error {
		if code, _ := b.do(http.MethodGet, "/api/v1/namespaces/"+namespace+"/configmaps/"+name); code != http.StatusInternalServerError {
			return fmt.Errorf("code %d", code)
		}
		return nil
	})
}

// TestUnsafeDeleteOptions checks which deletions may be unsafe.
func TestUnsafeDeleteOptions(t *testing.T) {
	b := startBroken(t, Options{})
	b.unreadableMap("default", "bad")
	if _, err := b.client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "good"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const with = "cannot be set together with ."
	for _, tt := range []struct {
		path string
		want int
		says string
	}{
		{mapsOf + "/bad" + unsafely + "&dryRun=All", 200, ""}, // the next lines show that it deletes nothing
		{mapsOf + "/bad" + unsafely + "&propagationPolicy=Background", 422, with + "propagationPolicy"},
		{mapsOf + "/bad" + unsafely + "&orphanDependents=true", 422, with + "orphanDependents"},
		{mapsOf + "/bad" + unsafely + "&gracePeriodSeconds=0", 422, with + "gracePeriodSeconds"},
		{mapsOf + unsafely, 422, "is not allowed with DELETECOLLECTION, try again after removing the option"},
		{mapsOf + "/good" + unsafely, 409, "StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/good, ResourceVersion: 0, " +
			"AdditionalErrorMsg: unsafe deletion is not allowed because the object is decodable from storage"},
		{mapsOf + "/none" + unsafely, 404, `configmaps "none" not found`},
		{mapsOf + "/bad", 500, "corrupt object"},
		{mapsOf + "/bad" + unsafely, 200, ""},
		{mapsOf + "/good", 200, ""},
	} {
		if code, status := b.do(http.MethodDelete, tt.path); code != tt.want || !strings.Contains(status.Message, tt.says) {
			t.Errorf("delete %s: %d %+v, want %d", tt.path, code, status, tt.want)
		}
	}
}

// TestUnsafeDeletePermission checks that the permission to delete is not enough.
func TestUnsafeDeletePermission(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte("alice-token,alice,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := startBroken(t, Options{Authentication: Authentication{TokenFile: tokens}})
	b.unreadableMap("default", "bad")
	admin, ctx := b.client.RbacV1(), t.Context()
	grant := func(verbs ...string) {
		t.Helper()
		name := verbs[0]
		if _, err := admin.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name},
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs}}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := admin.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "alice"}}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	alice := *b
	c := rest.AnonymousClientConfig(b.s.RESTConfig())
	c.BearerToken = "alice-token"
	h, err := rest.HTTPClientFor(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.CloseIdleConnections)
	alice.http = h
	const bad = mapsOf + "/bad" + unsafely
	if code, status := alice.do(http.MethodDelete, bad); code != http.StatusForbidden {
		t.Errorf("without any permission: %d %+v", code, status)
	}
	grant("delete", "get", "list")
	if code, status := alice.do(http.MethodDelete, bad); code != http.StatusForbidden || !strings.Contains(status.Message, `not permitted to do "unsafe-delete-ignore-read-errors"`) {
		t.Errorf("with delete: %d %+v", code, status)
	}
	grant("unsafe-delete-ignore-read-errors")
	if code, status := alice.do(http.MethodDelete, bad); code != http.StatusOK {
		t.Errorf("with both: %d %+v", code, status)
	}
}

// TestUnreadableInNamespace checks that a terminating namespace reports an object that
// cannot be decoded, and that it is removed when the object is deleted.
func TestUnreadableInNamespace(t *testing.T) {
	b := startBroken(t, Options{})
	ctx, namespaces := t.Context(), b.client.CoreV1().Namespaces()
	for _, name := range []string{"full", "other"} {
		if _, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	b.unreadableMap("full", "bad")
	owner, err := b.client.CoreV1().ConfigMaps("other").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owned := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.UID}}}}
	if _, err := b.client.CoreV1().Secrets("other").Create(ctx, owned, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"full", "other"} {
		if name == "other" { // garbage is collected meanwhile
			if err := b.client.CoreV1().ConfigMaps("other").Delete(ctx, "owner", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			b.eventually("the garbage collector deletes the dependent", func() error {
				if _, err := b.client.CoreV1().Secrets("other").Get(ctx, "owned", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
					return fmt.Errorf("the object still exists (%v)", err)
				}
				return nil
			})
		}
		if err := namespaces.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	deleted := func(name string) func() error {
		return func() error {
			ns, err := namespaces.Get(ctx, name, metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				return fmt.Errorf("%v (%v)", ns.Status, err)
			}
			return nil
		}
	}
	b.eventually("the other namespace goes", deleted("other"))
	b.eventually("the namespace says what it waits for", func() error {
		ns, err := namespaces.Get(ctx, "full", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range ns.Status.Conditions {
			if c.Type == corev1.NamespaceDeletionContentFailure && c.Status == corev1.ConditionTrue && strings.Contains(c.Message, "configmaps") {
				return nil
			}
		}
		return fmt.Errorf("%+v", ns.Status)
	})
	if code, status := b.do(http.MethodDelete, "/api/v1/namespaces/full/configmaps/bad"+unsafely); code != http.StatusOK {
		t.Fatalf("unsafe delete: %d %+v", code, status)
	}
	b.eventually("the namespace goes", deleted("full"))
}

// TestUnreadableCustomObjects checks the deletion of undecodable custom objects and of
// their definition.
func TestUnreadableCustomObjects(t *testing.T) {
	b := startBroken(t, Options{})
	ctx := t.Context()
	c, err := dynamic.NewForConfigAndClient(b.s.RESTConfig(), b.http)
	if err != nil {
		t.Fatal(err)
	}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "things.example.com"},
		"spec": map[string]any{"group": "example.com", "scope": "Cluster", "names": map[string]any{"plural": "things", "kind": "Thing"}, "versions": []any{
			map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}}},
	}}
	crds := c.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := crds.Create(ctx, definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const things = "/apis/example.com/v1/things"
	for _, value := range []string{"garbage", "", "[]", `{"a":`} {
		b.put("/registry/example.com/things/a", value)
		b.eventually("the list fails", func() error {
			if code, status := b.do(http.MethodGet, things); status.Reason != metav1.StatusReasonStoreReadError {
				return fmt.Errorf("%q: %d %+v", value, code, status)
			}
			return nil
		})
		if code, status := b.do(http.MethodDelete, things+"/a"+unsafely); code != http.StatusOK {
			t.Errorf("%q: unsafe delete: %d %+v", value, code, status)
		}
		if code, status := b.do(http.MethodGet, things); code != http.StatusOK {
			t.Errorf("%q: list after the deletion: %d %+v", value, code, status)
		}
	}
	const crdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	b.put("/registry/apiextensions.k8s.io/customresourcedefinitions/things.example.com", "garbage")
	b.eventually("the list of definitions fails", func() error {
		if code, status := b.do(http.MethodGet, crdPath); status.Reason != metav1.StatusReasonStoreReadError {
			return fmt.Errorf("%d %+v", code, status)
		}
		return nil
	})
	for _, path := range []string{"/openapi/v2", "/openapi/v3", "/apis"} {
		if code, status := b.do(http.MethodGet, path); code != http.StatusOK {
			t.Errorf("%s: %d %+v", path, code, status)
		}
	}
	if code, status := b.do(http.MethodDelete, crdPath+"/things.example.com"+unsafely); code != http.StatusOK {
		t.Errorf("unsafe delete of the definition: %d %+v", code, status)
	}
	b.eventually("the definition can be created again", func() error {
		_, err := crds.Create(ctx, definition, metav1.CreateOptions{})
		return err
	})
	b.eventually("the kind is served again", func() error {
		if code, status := b.do(http.MethodGet, things); code != http.StatusOK {
			return fmt.Errorf("%d %+v", code, status)
		}
		return nil
	})
}
