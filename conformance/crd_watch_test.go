package conformance

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestWatchUntilTheEnd checks that a watch of custom objects continues while anything but the spec
// of their definition changes, receives their deletion with the definition, and then ends.
func TestWatchUntilTheEnd(t *testing.T) {
	srv, _ := startWith(t, server.Options{})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	d := anyKind("art.example.com", map[string]any{"plural": "paints", "kind": "Paint"})
	d.SetFinalizers([]string{"example.com/mine"})
	define(t, c, d)
	paints, definitions := c.Resource(schema.GroupVersionResource{Group: "art.example.com", Version: "v1", Resource: "paints"}), c.Resource(definitionResource)
	w, err := paints.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	next := func(want watch.EventType, name string) {
		t.Helper()
		e, ok := <-w.ResultChan()
		if !ok {
			t.Fatalf("the watch ended before %s was %s", name, want)
		}
		if u, ok := e.Object.(*unstructured.Unstructured); !ok || e.Type != want || u.GetName() != name {
			t.Fatalf("%s of %v, want %s of %s", e.Type, e.Object, want, name)
		}
	}
	patch := func(patch string, sub ...string) *unstructured.Unstructured {
		t.Helper()
		u, err := definitions.Patch(t.Context(), d.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{}, sub...)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for _, name := range []string{"a", "b", "c"} {
		patch(`{"metadata":{"labels":{"for":"` + name + `"},"annotations":{"for":"` + name + `"}}}`)
		patch(`{"status":{"acceptedNames":{"shortNames":["`+name+`"]}}}`, "status") // the server sets them again
		awaitConditions(t, c, d.GetName(), established)
		if _, err := paints.Create(t.Context(), paint("v1", name, "red"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		next(watch.Added, name)
	}
	before := patch(`{}`).GetGeneration()
	if err := definitions.Delete(t.Context(), d.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		next(watch.Deleted, name)
	}
	awaitConditions(t, c, d.GetName(), "Terminating False InstanceDeletionCompleted: removed all instances")
	// No other event follows before the definition is deleted.
	u := patch(`{"metadata":{"labels":{"for":"nobody"}}}`)
	if u.GetGeneration() != before || u.GetDeletionGracePeriodSeconds() != nil || u.GetDeletionTimestamp() == nil {
		t.Errorf("generation %d before the deletion, then %v", before, u.Object["metadata"])
	}
	patch(`{"status":{"acceptedNames":{"shortNames":["d"]}}}`, "status")
	awaitConditions(t, c, d.GetName(), established)
	select {
	case e, ok := <-w.ResultChan():
		t.Fatalf("event %v (%t) before the definition is gone", e, ok)
	default:
	}
	patch(`{"metadata":{"finalizers":[]}}`)
	if e, ok := <-w.ResultChan(); ok {
		t.Errorf("the watch goes on with %s of %v", e.Type, e.Object)
	}
}
