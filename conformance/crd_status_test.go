package conformance

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/miniapiserver/miniapiserver/server"
)

// switched is a kind whose subresources are enabled and disabled.
type switched struct {
	c       dynamic.Interface
	objects dynamic.ResourceInterface
}

// with sets the subresources and waits until the change takes effect.
func (s *switched) with(t *testing.T, sub map[string]any) {
	t.Helper()
	change(t, s.c, "gauges.art.example.com", func(u *unstructured.Unstructured) error {
		versions, _, err := unstructured.NestedSlice(u.Object, "spec", "versions")
		if err != nil {
			return err
		}
		v := versions[0].(map[string]any)
		if delete(v, "subresources"); sub != nil {
			v["subresources"] = sub
		}
		return unstructured.SetNestedSlice(u.Object, versions, "spec", "versions")
	})
	for _, name := range []string{"status", "scale"} {
		eventually(t, name, func(ctx context.Context) (bool, error) {
			_, err := s.objects.Get(ctx, "g", metav1.GetOptions{}, name)
			if sub[name] == nil {
				return apierrors.IsNotFound(err), nil
			}
			return err == nil, nil
		})
	}
}

// patch patches the object or a subresource.
func (s *switched) patch(t *testing.T, patch string, sub ...string) {
	t.Helper()
	if _, err := s.objects.Patch(t.Context(), "g", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, sub...); err != nil {
		t.Errorf("%s %v: %v", patch, sub, err)
	}
}

// is compares the object with the expected spec, status and generation.
func (s *switched) is(t *testing.T, want string) {
	t.Helper()
	u, err := s.objects.Get(t.Context(), "g", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(u.Object["spec"], u.Object["status"], u.GetGeneration()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestSubresourcesSwitched checks which fields a write changes, and which changes increase the
// generation, when a kind gains or loses the subresources status and scale.
func TestSubresourcesSwitched(t *testing.T) {
	srv, _ := startWith(t, server.Options{})
	s := &switched{c: dynamic.NewForConfigOrDie(srv.RESTConfig())}
	s.objects = s.c.Resource(schema.GroupVersionResource{Group: "art.example.com", Version: "v1", Resource: "gauges"}).Namespace("default")
	pythonNumber := map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}}
	define(t, s.c, definitionOf("gauges", map[string]any{"group": "art.example.com", "scope": "Namespaced",
		"names": map[string]any{"plural": "gauges", "kind": "Gauge"}, "versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": pythonNumber, "status": pythonNumber}}}}}}))
	gauge := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "art.example.com/v1", "kind": "Gauge", "metadata": map[string]any{"name": "g"},
		"spec": map[string]any{"n": int64(1)}, "status": map[string]any{"n": int64(1)}}}
	if _, err := s.objects.Create(t.Context(), gauge, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// Without the subresource, status is an ordinary field.
	s.is(t, "map[n:1] map[n:1] 1")
	s.patch(t, `{"status":{"n":2}}`)
	s.is(t, "map[n:1] map[n:2] 2")
	_, err := s.objects.Patch(t.Context(), "g", types.MergePatchType, []byte(`{"status":{"n":3}}`), metav1.PatchOptions{}, "status")
	if !apierrors.IsNotFound(err) {
		t.Errorf("a status that there is not: %v", err)
	}

	s.with(t, map[string]any{"status": map[string]any{}})
	s.is(t, "map[n:1] map[n:2] 2")
	s.patch(t, `{"status":{"n":9},"spec":{"n":2}}`) // status is ignored
	s.is(t, "map[n:2] map[n:2] 3")
	s.patch(t, `{"status":{"n":4},"spec":{"n":9}}`, "status") // spec is ignored
	s.is(t, "map[n:2] map[n:4] 3")
	second := gauge.DeepCopy()
	second.SetName("h")
	if u, err := s.objects.Create(t.Context(), second, metav1.CreateOptions{}); err != nil || u.Object["status"] != nil {
		t.Errorf("%v, created with %v", err, u)
	}

	s.with(t, map[string]any{"scale": map[string]any{"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}})
	s.is(t, "map[n:2] map[n:4] 3")
	s.patch(t, `{"spec":{"replicas":5}}`, "scale")
	s.is(t, "map[n:5] map[n:4] 4")
	s.patch(t, `{"status":{"n":6}}`) // an ordinary field again
	s.is(t, "map[n:5] map[n:6] 5")
	if u, err := s.objects.Get(t.Context(), "g", metav1.GetOptions{}, "scale"); err != nil || fmt.Sprint(u.Object["spec"], u.Object["status"]) != "map[replicas:5] map[replicas:6]" {
		t.Errorf("%v, %v", u, err)
	}

	s.with(t, nil)
	s.patch(t, `{"metadata":{"labels":{"a":"b"}}}`) // does not increase the generation
	s.is(t, "map[n:5] map[n:6] 5")
	s.patch(t, `{"status":null}`)
	s.is(t, "map[n:5] <nil> 6")
}
