package conformance

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestApplyNull applies null to an object and to a list whose items the same manager owns. The
// result is null, which validation rejects unless the schema has nullable.
func TestApplyNull(t *testing.T) {
	srv, _ := startWith(t, server.Options{})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	text := map[string]any{"type": "string"}
	object := func(nullable bool) any {
		return map[string]any{"type": "object", "nullable": nullable, "properties": map[string]any{"a": text}}
	}
	list := func(nullable bool) any {
		return map[string]any{"type": "array", "nullable": nullable, "items": text, "x-kubernetes-list-type": "set"}
	}
	define(t, c, definitionOf("owneds", map[string]any{"group": "art.example.com", "scope": "Namespaced",
		"names": map[string]any{"plural": "owneds", "kind": "Owned"}, "versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
				"spec": map[string]any{"type": "object", "properties": map[string]any{
					"object": object(false), "nullableObject": object(true), "list": list(false), "nullableList": list(true)}}}}}}}}))
	owneds := c.Resource(ownedResource).Namespace("default")
	for _, test := range []struct {
		field string
		value any
		want  string
	}{
		{"object", map[string]any{"a": "1"}, "must be of type object"},
		{"nullableObject", map[string]any{"a": "1"}, ""},
		{"list", []any{"1"}, "must be of type array"},
		{"nullableList", []any{"1"}, ""},
	} {
		apply := func(value any) (*unstructured.Unstructured, error) {
			return owneds.Apply(t.Context(), strings.ToLower(test.field), &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "art.example.com/v1", "kind": "Owned", "metadata": map[string]any{"name": strings.ToLower(test.field)},
				"spec": map[string]any{test.field: value}}}, metav1.ApplyOptions{FieldManager: "one"})
		}
		if _, err := apply(test.value); err != nil {
			t.Fatalf("%s: %v", test.field, err)
		}
		got, err := apply(nil)
		if test.want != "" {
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got error %v, want %q", test.field, err, test.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.field, err)
			continue
		}
		if value, found, err := unstructured.NestedFieldNoCopy(got.Object, "spec", test.field); !found || value != nil || err != nil {
			t.Errorf("%s: got %v (found %t), %v, want null", test.field, value, found, err)
		}
	}
}
