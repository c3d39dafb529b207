package controllers_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server"
)

func dynamicFor(t *testing.T, config *rest.Config) dynamic.Interface {
	t.Helper()
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.CloseIdleConnections)
	c, err := dynamic.NewForConfigAndClient(config, h)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestLocalServices checks that the APIService of a custom kind is created again, repaired
// and deleted with its version, that those of built-in groups are restored only at the
// start, and that unmanaged ones are not changed.
func TestLocalServices(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	apiServices := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	s, err := server.Start(ctx, server.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	stop := func() {
		if err := s.Stop(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}
	defer func() { stop() }()
	c := dynamicFor(t, s.RESTConfig())
	definitions := c.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	version := func(name string, stored bool) any {
		return map[string]any{"name": name, "served": true, "storage": stored, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}
	}
	if _, err := definitions.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Cluster", "names": map[string]any{"plural": "widgets", "kind": "Widget"},
			"versions": []any{version("v1", true), version("v2", false)},
		},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	services := c.Resource(apiServices)
	priority := func(name string, want int64) {
		t.Helper()
		eventually(t, name, func(ctx context.Context) (bool, error) {
			a, err := services.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			got, _, err := unstructured.NestedInt64(a.Object, "spec", "groupPriorityMinimum")
			return got == want, err
		})
	}
	change := func(name, patch string) {
		t.Helper()
		if _, err := services.Patch(ctx, name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	priority("v1.example.com", 1000)
	priority("v2.example.com", 1000)
	if err := services.Delete(ctx, "v1.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	priority("v1.example.com", 1000)
	change("v1.example.com", `{"spec":{"groupPriorityMinimum":5}}`)
	priority("v1.example.com", 1000)
	change("v1.batch", `{"spec":{"groupPriorityMinimum":5}}`)
	change("v1.apps", `{"metadata":{"labels":null},"spec":{"groupPriorityMinimum":6}}`)
	if _, err := definitions.Patch(ctx, "widgets.example.com", "application/json-patch+json",
		[]byte(`[{"op":"replace","path":"/spec/versions/1/served","value":false}]`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "v2 gone", func(ctx context.Context) (bool, error) {
		_, err := services.Get(ctx, "v2.example.com", metav1.GetOptions{})
		return gone(err)
	})
	priority("v1.batch", 5)

	stop()
	if s, err = server.Start(ctx, server.Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	services = dynamicFor(t, s.RESTConfig()).Resource(apiServices)
	priority("v1.batch", 17400)
	priority("v1.apps", 6)
	priority("v1.example.com", 1000)
}
