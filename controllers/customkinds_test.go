package controllers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestDefinitionMadeAgain repeatedly deletes a definition and creates it again at once. Its
// kind must be served when it is established, even if the deletion was not observed.
func TestDefinitionMadeAgain(t *testing.T) {
	s, _ := start(t, server.Options{})
	client := dynamicClient(t, s)
	definitions := client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	definition, widget := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	for text, to := range map[string]*unstructured.Unstructured{
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},
			"spec":{"group":"example.com","scope":"Cluster","names":{"kind":"Widget","plural":"widgets"},
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`: definition,
		`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"one"}}`: widget,
	} {
		if err := json.Unmarshal([]byte(text), &to.Object); err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	for range 20 {
		eventually(t, "the definition is created again", func(ctx context.Context) (bool, error) {
			_, err := definitions.Create(ctx, definition, metav1.CreateOptions{})
			return !apierrors.IsAlreadyExists(err), nil
		})
		eventually(t, "the definition is established", func(ctx context.Context) (bool, error) {
			d, err := definitions.Get(ctx, "widgets.example.com", metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			conditions, _, _ := unstructured.NestedSlice(d.Object, "status", "conditions") // null at first
			return slices.ContainsFunc(conditions, func(c any) bool {
				m := c.(map[string]any)
				return m["type"] == "Established" && m["status"] == "True"
			}), nil
		})
		widgets := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"})
		if _, err := widgets.Create(ctx, widget, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := definitions.Delete(ctx, "widgets.example.com", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDiscoveryFollowsEstablished repeatedly creates a definition and updates it at once when its
// kind is discovered. The update must not conflict with the controller's.
func TestDiscoveryFollowsEstablished(t *testing.T) {
	s, _ := start(t, server.Options{})
	h, err := rest.HTTPClientFor(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.CloseIdleConnections)
	definitions := dynamicClient(t, s).Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	legacy, err := discovery.NewDiscoveryClientForConfigAndClient(s.RESTConfig(), h)
	if err != nil {
		t.Fatal(err)
	}
	ways := map[string]func(ctx context.Context, group, plural string) bool{
		"APIResourceList": func(_ context.Context, group, plural string) bool {
			list, err := legacy.ServerResourcesForGroupVersion(group + "/v1")
			return err == nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == plural })
		},
		"aggregated": func(_ context.Context, group, plural string) bool {
			_, lists, err := legacy.ServerGroupsAndResources()
			return err == nil && slices.ContainsFunc(lists, func(l *metav1.APIResourceList) bool {
				return l.GroupVersion == group+"/v1" && slices.ContainsFunc(l.APIResources, func(r metav1.APIResource) bool { return r.Name == plural })
			})
		},
	}
	for name, found := range ways {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			for i := range 20 {
				group, plural := fmt.Sprintf("g%d.%s.example.com", i/2, strings.ToLower(name)), fmt.Sprintf("widgets%d", i%2)
				definition := &unstructured.Unstructured{}
				if err := json.Unmarshal(fmt.Appendf(nil, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%[2]s.%[1]s"},
					"spec":{"group":%[1]q,"scope":"Cluster","names":{"kind":"Widget%[3]d","plural":%[2]q},
					"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`, group, plural, i%2), &definition.Object); err != nil {
					t.Fatal(err)
				}
				if _, err := definitions.Create(ctx, definition, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				for !found(ctx, group, plural) {
					if ctx.Err() != nil {
						t.Fatal("the kind is not discovered")
					}
				}
				d, err := definitions.Get(ctx, definition.GetName(), metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				d.SetLabels(map[string]string{"a": "b"})
				if _, err := definitions.Update(ctx, d, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// dynamicClient returns a dynamic client of s.
func dynamicClient(t *testing.T, s *server.Server) dynamic.Interface {
	t.Helper()
	h, err := rest.HTTPClientFor(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.CloseIdleConnections)
	client, err := dynamic.NewForConfigAndClient(s.RESTConfig(), h)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
