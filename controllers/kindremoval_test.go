package controllers_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapiserver/miniapiserver/server"
)

var (
	definitionsAt = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	widgetsAt     = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	allVerbs      = metav1.Verbs{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	lastVerbs     = metav1.Verbs{"delete", "deletecollection", "get", "list", "watch"}
)

const widgetsName = "widgets.example.com"

// widgets is a server with the definition of the kind Widget.
type widgets struct {
	definitions, objects dynamic.ResourceInterface
	typed                *kubernetes.Clientset
}

func startWidgets(t *testing.T) *widgets {
	t.Helper()
	s, c := start(t, server.Options{})
	client := dynamicClient(t, s)
	return &widgets{client.Resource(definitionsAt), client.Resource(widgetsAt), c}
}

// define creates the definition with additional finalizers, and waits until it has a
// condition.
func (w *widgets) define(t *testing.T, kind, condition string, finalizers ...string) {
	t.Helper()
	d := parsed(t, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"`+strings.ToLower(kind)+`s.example.com"},
		"spec":{"group":"example.com","scope":"Cluster","names":{"kind":"Widget","plural":"`+strings.ToLower(kind)+`s"},
		"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`)
	d.SetFinalizers(finalizers)
	if _, err := w.definitions.Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.says(t, d.GetName(), condition)
}

// says waits until a definition has a condition with this type, status, reason and message,
// of which trailing ones may be omitted.
func (w *widgets) says(t *testing.T, name, condition string) {
	t.Helper()
	eventually(t, name+" says "+condition, func(ctx context.Context) (bool, error) {
		u, err := w.definitions.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions") // null at first
		for _, c := range conditions {
			m := c.(map[string]any)
			is := m["type"].(string) + " " + m["status"].(string) + " " + m["reason"].(string) + " " + m["message"].(string)
			if strings.HasPrefix(is, condition) {
				return true, nil
			}
		}
		return false, nil
	})
}

// verbs returns the verbs of the kind in both forms of discovery.
func (w *widgets) verbs(ctx context.Context) (legacy, aggregated metav1.Verbs, err error) {
	list, err := w.typed.DiscoveryClient.ServerResourcesForGroupVersion("example.com/v1")
	if err != nil {
		return nil, nil, err
	}
	body, err := w.typed.RESTClient().Get().AbsPath("/apis").SetHeader("Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList").DoRaw(ctx)
	if err != nil {
		return nil, nil, err
	}
	var all apidiscoveryv2.APIGroupDiscoveryList
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, nil, err
	}
	for _, g := range all.Items {
		if g.Name == "example.com" {
			aggregated = g.Versions[0].Resources[0].Verbs
		}
	}
	return list.APIResources[0].Verbs, aggregated, nil
}

func (w *widgets) offers(t *testing.T, want metav1.Verbs) {
	t.Helper()
	eventually(t, "discovery has the expected verbs", func(ctx context.Context) (bool, error) {
		legacy, aggregated, err := w.verbs(ctx)
		return reflect.DeepEqual(legacy, want) && reflect.DeepEqual(aggregated, want), err
	})
}

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return u
}

func (w *widgets) release(t *testing.T, of dynamic.ResourceInterface, name string) {
	t.Helper()
	if _, err := of.Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestDefinitionIsHeld deletes a definition whose objects have finalizers. The definition
// must report the remaining objects, refuse new ones, and be deleted with the last of them.
func TestDefinitionIsHeld(t *testing.T) {
	w, ctx := startWidgets(t), t.Context()
	w.define(t, "Widget", "Established True", "example.com/kept")
	for _, name := range []string{"a", "b", "free"} {
		u := parsed(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"`+name+`"}}`)
		if name != "free" {
			u.SetFinalizers([]string{"example.com/hold"})
		}
		if _, err := w.objects.Create(ctx, u, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.offers(t, allVerbs)
	if err := w.definitions.Delete(ctx, widgetsName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.says(t, widgetsName, "Terminating True InstanceDeletionInProgress CustomResource deletion is in progress")
	w.offers(t, lastVerbs)
	eventually(t, "objects without finalizers are deleted", func(ctx context.Context) (bool, error) {
		list, err := w.objects.List(ctx, metav1.ListOptions{})
		return err == nil && len(list.Items) == 2, err
	})
	_, err := w.objects.Create(ctx, parsed(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"late"}}`), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || err.Error() != `widgets.example.com "late" is forbidden: create not allowed while custom resource definition is terminating` {
		t.Errorf("a late object: %v", err)
	}
	w.release(t, w.objects, "a")
	w.offers(t, lastVerbs) // another object is left
	w.release(t, w.objects, "b")
	// Only the definition's own finalizer remains.
	w.says(t, widgetsName, "Terminating False InstanceDeletionCompleted removed all instances")
	w.offers(t, allVerbs)
	w.release(t, w.definitions, widgetsName)
	eventually(t, "the kind is removed", func(ctx context.Context) (bool, error) {
		_, err := w.objects.List(ctx, metav1.ListOptions{})
		return gone(err)
	})
}

// TestDefinitionNeverEstablished deletes a definition that was never established.
func TestDefinitionNeverEstablished(t *testing.T) {
	w, ctx := startWidgets(t), t.Context()
	w.define(t, "Widget", "Established True")
	w.define(t, "Other", "NamesAccepted False ListKindConflict", "example.com/kept")
	if err := w.definitions.Delete(ctx, "others.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.says(t, "others.example.com", "Terminating False NeverEstablished resource was never established")
	w.offers(t, allVerbs)
}
