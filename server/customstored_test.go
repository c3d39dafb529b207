package server

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// TestMalformedStoredMetadata checks that a custom object whose stored metadata is
// malformed can be read, listed, updated and deleted.
func TestMalformedStoredMetadata(t *testing.T) {
	h := startHistory(t)
	ctx := t.Context()
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "things.example.com"},
		"spec": map[string]any{"group": "example.com", "scope": "Cluster", "names": map[string]any{"plural": "things", "kind": "Thing"}, "versions": []any{
			map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}}}}}},
	}}
	if _, err := h.definitions.Create(ctx, definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.s.store.Client().Put(ctx, "/registry/example.com/things/a", `{"apiVersion":"example.com/v1","kind":"Thing","n":1,"metadata":{"name":"a","uid":"u",
		"labels":{"x":1},"annotations":{"b":"c"},"finalizers":"f","creationTimestamp":"yesterday","more":true}}`); err != nil {
		t.Fatal(err)
	}
	c, err := dynamic.NewForConfigAndClient(h.s.RESTConfig(), h.http)
	if err != nil {
		t.Fatal(err)
	}
	things := c.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"})
	var got *unstructured.Unstructured
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if got, err = things.Get(ctx, "a", metav1.GetOptions{}); err == nil || !apierrors.IsNotFound(err) || time.Now().After(deadline) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	version := got.GetResourceVersion()
	if text, err := got.MarshalJSON(); err != nil || string(text) !=
		`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"annotations":{"b":"c"},"generation":1,"name":"a","resourceVersion":"`+version+`","uid":"u"},"n":1}`+"\n" {
		t.Errorf("got %s, %v", text, err)
	}
	list, err := things.List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].GetLabels() != nil {
		t.Errorf("list is %v, %v", list, err)
	}
	if err := unstructured.SetNestedField(got.Object, int64(2), "n"); err != nil {
		t.Fatal(err)
	}
	if got, err = things.Update(ctx, got, metav1.UpdateOptions{}); err != nil || got.GetGeneration() != 2 {
		t.Errorf("updated to %v, %v", got, err)
	}
	if err := things.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := things.Get(ctx, "a", metav1.GetOptions{}); apierrors.ReasonForError(err) != metav1.StatusReasonNotFound {
		t.Errorf("after the deletion: %v", err)
	}
}
