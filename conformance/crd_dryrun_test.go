package conformance

import (
	"encoding/json"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestDryRunDefaults checks that a dry run responds like the write, with the defaults of a status
// that clients do not set.
func TestDryRunDefaults(t *testing.T) {
	srv, _ := startWith(t, server.Options{})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	text := func(value any) map[string]any { return map[string]any{"type": "string", "default": value} }
	status := map[string]any{"type": "object", "properties": map[string]any{"phase": text("Pending"), "seen": map[string]any{"type": "integer"}}}
	whole := map[string]any{"type": "object", "properties": status["properties"], "default": map[string]any{}}
	for i, test := range []struct {
		status        map[string]any // its schema
		sub           map[string]any
		made, patched string // the status after the create and the patch
	}{
		{status, nil, `{"phase":"Pending","seen":1}`, `{"phase":"Pending","seen":2}`},
		{whole, nil, `{"phase":"Pending","seen":1}`, `{"phase":"Pending","seen":2}`},
		{status, map[string]any{"status": map[string]any{}}, `null`, `null`},
		{whole, map[string]any{"status": map[string]any{}}, `{"phase":"Pending"}`, `{"phase":"Pending"}`},
	} {
		plural, kind := fmt.Sprint("drafts", i), fmt.Sprint("Draft", i)
		v1 := map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object",
			"properties": map[string]any{"status": test.status, "spec": map[string]any{"type": "object", "properties": map[string]any{"a": text("x")}}}}}}
		v2 := map[string]any{"name": "v2", "served": true, "storage": false, "schema": v1["schema"]}
		if test.sub != nil {
			v1["subresources"], v2["subresources"] = test.sub, test.sub
		}
		define(t, c, definitionOf(plural, map[string]any{"group": "art.example.com", "scope": "Namespaced",
			"names": map[string]any{"plural": plural, "kind": kind}, "versions": []any{v1, v2}}))
		for _, version := range []string{"v1", "v2"} {
			drafts := c.Resource(schema.GroupVersionResource{Group: "art.example.com", Version: version, Resource: plural}).Namespace("default")
			u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "art.example.com/" + version, "kind": kind, "metadata": map[string]any{"name": version},
				"spec": map[string]any{}, "status": map[string]any{"seen": int64(1)}}}
			shows := func(what, want string, write func(dryRun []string) (*unstructured.Unstructured, error)) {
				t.Helper()
				for _, dryRun := range [][]string{{metav1.DryRunAll}, nil} {
					u, err := write(dryRun)
					if err != nil {
						t.Fatalf("%d %s, %s %v: %v", i, version, what, dryRun, err)
					}
					got, _ := json.Marshal(u.Object["status"])
					if string(got) != want || fmt.Sprint(u.Object["spec"]) != "map[a:x]" || u.GetAPIVersion() != "art.example.com/"+version {
						t.Errorf("%d %s, %s %v: %v, want status %s", i, version, what, dryRun, u.Object, want)
					}
				}
			}
			shows("create", test.made, func(dryRun []string) (*unstructured.Unstructured, error) {
				return drafts.Create(t.Context(), u, metav1.CreateOptions{DryRun: dryRun})
			})
			shows("patch", test.patched, func(dryRun []string) (*unstructured.Unstructured, error) {
				return drafts.Patch(t.Context(), version, types.MergePatchType, []byte(`{"status":{"seen":2},"spec":{"a":null}}`), metav1.PatchOptions{DryRun: dryRun})
			})
			if test.sub == nil {
				continue
			}
			shows("patch status", `{"phase":"Pending","seen":3}`, func(dryRun []string) (*unstructured.Unstructured, error) {
				return drafts.Patch(t.Context(), version, types.MergePatchType, []byte(`{"status":{"seen":3,"phase":null}}`), metav1.PatchOptions{DryRun: dryRun}, "status")
			})
			if test.made != "null" {
				shows("take status", `{"phase":"Pending"}`, func(dryRun []string) (*unstructured.Unstructured, error) {
					return drafts.Patch(t.Context(), version, types.MergePatchType, []byte(`{"status":null}`), metav1.PatchOptions{DryRun: dryRun}, "status")
				})
			}
		}
	}
}
