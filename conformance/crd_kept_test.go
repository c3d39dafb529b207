package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/miniapiserver/miniapiserver/server"
	"github.com/miniapiserver/miniapiserver/storage"
)

// rewrite changes a value in the etcd data of a stopped server.
func rewrite(t *testing.T, dir, key string, change func([]byte) []byte) {
	t.Helper()
	s, err := storage.Open(t.Context(), storage.Options{Dir: filepath.Join(dir, "etcd")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	got, err := s.Client().Get(t.Context(), key)
	if err != nil || len(got.Kvs) != 1 {
		t.Fatalf("%s: %v, %v", key, got, err)
	}
	if _, err := s.Client().Put(t.Context(), key, string(change(got.Kvs[0].Value))); err != nil {
		t.Fatal(err)
	}
}

// TestKeptUnknown checks that objects of a definition from before structural schemas retain all
// fields, unknown ones and nulls included, until the definition is migrated.
func TestKeptUnknown(t *testing.T) {
	for name, by := range map[string]string{"said": `"preserveUnknownFields":true`, "by default": `"preserveUnknownFields":null`} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			text := map[string]any{"type": "string", "nullable": true}
			spec := map[string]any{"type": "object", "properties": map[string]any{"a": text}}
			d := definitionOf("olds", map[string]any{"group": "art.example.com", "scope": "Namespaced",
				"names": map[string]any{"plural": "olds", "kind": "Old"}, "versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
					"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": spec}}}}}})
			t.Run("before", func(t *testing.T) {
				srv, _ := startWith(t, server.Options{Dir: dir})
				define(t, dynamic.NewForConfigOrDie(srv.RESTConfig()), d)
			})
			rewrite(t, dir, "/registry/apiextensions.k8s.io/customresourcedefinitions/olds.art.example.com", func(value []byte) []byte {
				return bytes.Replace(value, []byte(`"preserveUnknownFields":false`), []byte(by), 1)
			})
			srv, _ := startWith(t, server.Options{Dir: dir})
			keptUnknown(t, dynamic.NewForConfigOrDie(srv.RESTConfig()))
		})
	}
}

func keptUnknown(t *testing.T, c dynamic.Interface) {
	ctx, name := t.Context(), "olds.art.example.com"
	olds := c.Resource(schema.GroupVersionResource{Group: "art.example.com", Version: "v1", Resource: "olds"}).Namespace("default")
	awaitConditions(t, c, name, "NonStructuralSchema True Violations: spec.preserveUnknownFields: Invalid value: true: must be false")
	is := func(when string, u *unstructured.Unstructured, err error, want string) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		delete(u.Object, "metadata")
		delete(u.Object, "kind")
		delete(u.Object, "apiVersion")
		if got, _ := json.Marshal(u.Object); string(got) != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "art.example.com/v1", "kind": "Old", "metadata": map[string]any{"name": "o"},
		"spec": map[string]any{"a": nil, "b": map[string]any{"c": nil}}, "top": []any{nil, int64(1)}}}
	const all = `{"spec":{"a":null,"b":{"c":null}},"top":[null,1]}`
	made, err := olds.Create(ctx, u, metav1.CreateOptions{FieldValidation: "Strict"})
	is("created", made, err, all)
	read, err := olds.Get(ctx, "o", metav1.GetOptions{})
	is("read", read, err, all)
	applied, err := olds.Patch(ctx, "o", types.ApplyPatchType, []byte(`{"apiVersion":"art.example.com/v1","kind":"Old","spec":{"b":{"d":{"e":1}}}}`), metav1.PatchOptions{FieldManager: "m"})
	is("applied", applied, err, `{"spec":{"a":null,"b":{"c":null,"d":{"e":1}}},"top":[null,1]}`)
	// Validation by the schema still applies.
	u.SetName("p")
	u.Object["spec"] = map[string]any{"a": int64(1)}
	if _, err := olds.Create(ctx, u, metav1.CreateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.a in body must be of type string") {
		t.Error(err)
	}
	// The definition may stay unchanged and sets no defaults.
	definitions := c.Resource(definitionResource)
	if _, err := definitions.Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"names":{"shortNames":["ol"]}}}`), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
	const defaulted = `[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a/default","value":"x"}]`
	_, err = definitions.Patch(ctx, name, types.JSONPatchType, []byte(defaulted), metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the schema") {
		t.Error(err)
	}
	if _, err := definitions.Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"preserveUnknownFields":false}}`), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
	eventually(t, "pruned", func(ctx context.Context) (bool, error) {
		u, err := olds.Get(ctx, "o", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return fmt.Sprint(u.Object["spec"], u.Object["top"]) == "map[a:<nil>] <nil>", nil
	})
	_, err = definitions.Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"preserveUnknownFields":true}}`), metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "cannot set to true") {
		t.Error(err)
	}
}
