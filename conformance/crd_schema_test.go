package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server"
)

const brokenName = "brokens.art.example.com"

func brokens() *unstructured.Unstructured {
	return definitionOf("brokens", map[string]any{"group": "art.example.com", "scope": "Namespaced",
		"names": map[string]any{"plural": "brokens", "kind": "Broken"}, "versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
			"subresources": map[string]any{"status": map[string]any{}},
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
				"spec": map[string]any{"type": "object", "properties": map[string]any{
					"a": map[string]any{"type": "string"}, "b": map[string]any{"type": "integer", "default": int64(7)},
				}},
				"status": map[string]any{"type": "object", "properties": map[string]any{"s": map[string]any{"type": "string"}}},
			}}}}}})
}

// TestStoredSchemaCannotBeUsed checks that an invalid stored schema, written to etcd by another
// program, does not prevent reads and deletion of objects, but rejects writes that it would have to
// validate.
func TestStoredSchemaCannotBeUsed(t *testing.T) {
	schemaWith := func(text string) string { return `"a":` + text }
	for name, broken := range map[string]struct {
		was, is   string
		condition string
		refused   string
	}{
		"reference":   {schemaWith(`{"type":"string"}`), schemaWith(`{"$ref":"#/definitions/x"}`), "NonStructuralSchema Unknown StructuralError: failed to check validation schema for version v1: OpenAPIV3Schema '$ref' is not supported", "OpenAPIV3Schema '$ref' is not supported"},
		"items":       {schemaWith(`{"type":"string"}`), schemaWith(`{"type":"array","items":[{"type":"string"}]}`), "NonStructuralSchema Unknown StructuralError: failed to check validation schema for version v1: OpenAPIV3Schema 'items' must be a schema, but is an array", "'items' must be a schema"},
		"wrong types": {schemaWith(`{"type":"string"}`), schemaWith(`{"type":{"x":1}}`), "", "cannot unmarshal object"},
		"number":      {schemaWith(`{"type":"string"}`), schemaWith(`{"type":"number","default":1e999}`), "", "cannot unmarshal number 1e999"},
		"none":        {`"openAPIV3Schema"`, `"openAPIV9Schema"`, "NonStructuralSchema True Violations: spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required", "schemas are required"},
		"rule":        {schemaWith(`{"type":"string"}`), schemaWith(`{"type":"string","x-kubernetes-validations":[{"rule":"self.nonsense("}]}`), "NonStructuralSchema True Violations: spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].x-kubernetes-validations[0].rule: Invalid value: \"self.nonsense(\": compilation failed", "rule compile error: compilation failed"},
		"pattern":     {schemaWith(`{"type":"string"}`), schemaWith(`{"type":"string","pattern":"("}`), "NonStructuralSchema True Violations: spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].pattern: Invalid value: \"(\": must be a valid regular expression", "pattern is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Run("before", func(t *testing.T) {
				srv, _ := startWith(t, server.Options{Dir: dir})
				c := dynamic.NewForConfigOrDie(srv.RESTConfig())
				define(t, c, brokens())
				for _, object := range []string{"one", "two", "three"} {
					if _, err := brokenObjects(c).Create(t.Context(), brokenObject(object), metav1.CreateOptions{}); err != nil {
						t.Fatal(err)
					}
				}
			})
			rewrite(t, dir, "/registry/apiextensions.k8s.io/customresourcedefinitions/"+brokenName, func(value []byte) []byte {
				if !bytes.Contains(value, []byte(broken.was)) {
					t.Fatalf("%s is not in %s", broken.was, value)
				}
				return bytes.Replace(value, []byte(broken.was), []byte(broken.is), 1)
			})
			srv, _ := startWith(t, server.Options{Dir: dir})
			c := dynamic.NewForConfigOrDie(srv.RESTConfig())
			if broken.condition != "" {
				awaitMessage(t, c, brokenName, "NonStructuralSchema", broken.condition)
			}
			brokenReads(t, c)
			brokenWrites(t, c, broken.refused)
			documentsAreServed(t, srv.RESTConfig())
			repairSchema(t, c)
			brokenDeletes(t, c)
		})
	}
}

func brokenObjects(c dynamic.Interface) dynamic.ResourceInterface {
	return c.Resource(schema.GroupVersionResource{Group: "art.example.com", Version: "v1", Resource: "brokens"}).Namespace("default")
}

func brokenObject(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "art.example.com/v1", "kind": "Broken",
		"metadata": map[string]any{"name": name, "finalizers": []any{"example.com/f"}}, "spec": map[string]any{"a": "x"}}}
}

// awaitMessage waits until the message of a definition's condition has a prefix.
func awaitMessage(t *testing.T, c dynamic.Interface, name, kind, want string) {
	t.Helper()
	var got string
	defer func() {
		if t.Failed() {
			t.Logf("%s says %q", name, got)
		}
	}()
	eventually(t, want, func(ctx context.Context) (bool, error) {
		u, err := c.Resource(definitionResource).Get(ctx, name, metav1.GetOptions{})
		if cannotBeRead(err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, one := range conditions {
			if m := one.(map[string]any); m["type"] == kind {
				got = fmt.Sprintf("%s %s %s: %s", kind, m["status"], m["reason"], m["message"])
			}
		}
		return strings.HasPrefix(got, want), nil
	})
}

// cannotBeRead reports whether an error says that the server failed to read an object.
func cannotBeRead(err error) bool {
	status, ok := err.(apierrors.APIStatus)
	return ok && status.Status().Code == http.StatusInternalServerError
}

// brokenReads checks that objects are returned as stored, with the default they got.
func brokenReads(t *testing.T, c dynamic.Interface) {
	t.Helper()
	list, err := brokenObjects(c).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 3 {
		t.Fatalf("list: %v, %v", list, err)
	}
	u, err := brokenObjects(c).Get(t.Context(), "one", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if spec, _ := json.Marshal(u.Object["spec"]); string(spec) != `{"a":"x","b":7}` {
		t.Errorf("spec is %s", spec)
	}
	w, err := brokenObjects(c).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for range 3 {
		if e, ok := <-w.ResultChan(); !ok || e.Type != "ADDED" {
			t.Fatalf("event %v", e)
		}
	}
}

// brokenWrites checks that writes which need validation are rejected, and that finalizers can be
// removed.
func brokenWrites(t *testing.T, c dynamic.Interface, refused string) {
	t.Helper()
	objects := brokenObjects(c)
	_, create := objects.Create(t.Context(), brokenObject("four"), metav1.CreateOptions{})
	_, patch := objects.Patch(t.Context(), "one", types.MergePatchType, []byte(`{"spec":{"a":"z"}}`), metav1.PatchOptions{})
	_, apply := objects.Apply(t.Context(), "one", &unstructured.Unstructured{Object: map[string]any{"apiVersion": "art.example.com/v1", "kind": "Broken",
		"metadata": map[string]any{"name": "one"}, "spec": map[string]any{"a": "y"}}}, metav1.ApplyOptions{FieldManager: "m", Force: true})
	for what, err := range map[string]error{"create": create, "patch": patch, "apply": apply} {
		if err == nil || !strings.Contains(err.Error(), refused) {
			t.Errorf("%s: %v, want %s", what, err, refused)
		}
	}
	if _, err := objects.Patch(t.Context(), "one", types.MergePatchType, []byte(`{"metadata":{"finalizers":null,"labels":{"x":"y"}}}`), metav1.PatchOptions{}); err != nil {
		t.Errorf("metadata: %v", err)
	}
	if err := objects.Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if u, err := objects.Get(t.Context(), "one", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v, %v", u, err)
	}
}

func documentsAreServed(t *testing.T, config *rest.Config) {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/openapi/v2", "/openapi/v3", "/openapi/v3/apis/art.example.com/v1", "/apis/art.example.com/v1"} {
		answer, err := client.Get(config.Host + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || !bytes.Contains(body, []byte("art.example.com")) {
			t.Errorf("%s: %s %.200s, %v", path, answer.Status, body, err)
		}
	}
}

// repairSchema checks that a definition with a repaired schema is served like any other.
func repairSchema(t *testing.T, c dynamic.Interface) {
	t.Helper()
	d, err := c.Resource(definitionResource).Get(t.Context(), brokenName, metav1.GetOptions{})
	if cannotBeRead(err) {
		return // such a definition can only be deleted
	}
	if err != nil {
		t.Fatal(err)
	}
	d.Object["spec"] = brokens().Object["spec"]
	if _, err := c.Resource(definitionResource).Update(t.Context(), d, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "mended", func(ctx context.Context) (bool, error) {
		_, err := brokenObjects(c).Create(ctx, brokenObject("mended"), metav1.CreateOptions{DryRun: []string{"All"}})
		if err != nil {
			return false, nil
		}
		u, err := c.Resource(definitionResource).Get(ctx, brokenName, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		return !strings.Contains(fmt.Sprint(conditions), "NonStructuralSchema"), nil
	})
}

func brokenDeletes(t *testing.T, c dynamic.Interface) {
	t.Helper()
	for _, name := range []string{"two", "three"} {
		if _, err := brokenObjects(c).Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	}
	if err := brokenObjects(c).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	if list, err := brokenObjects(c).List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
		t.Errorf("left: %v, %v", list, err)
	}
}
