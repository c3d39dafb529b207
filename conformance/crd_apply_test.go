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

// TestApplyBeyondOtherVersions applies a field that the version of another manager lacks. The first
// conversion that fails is reported, which is that of the removal of fields if the applier applied before.
func TestApplyBeyondOtherVersions(t *testing.T) {
	srv, _ := startWith(t, server.Options{})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	version := func(name string, stored bool, fields ...string) any {
		properties := map[string]any{}
		for _, f := range fields {
			properties[f] = map[string]any{"type": "string"}
		}
		return map[string]any{"name": name, "served": true, "storage": stored, "schema": map[string]any{"openAPIV3Schema": map[string]any{
			"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object", "properties": properties}}}}}
	}
	define(t, c, definitionOf("owneds", map[string]any{"group": "art.example.com", "scope": "Namespaced",
		"names": map[string]any{"plural": "owneds", "kind": "Owned"}, "versions": []any{version("v1", true, "a"), version("v2", false, "a", "b")}}))
	apply := func(version, manager string, spec map[string]any) error {
		_, err := c.Resource(ownedResource.GroupResource().WithVersion(version)).Namespace("default").Apply(t.Context(), "o", &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "art.example.com/" + version, "kind": "Owned", "metadata": map[string]any{"name": "o"}, "spec": spec}}, metav1.ApplyOptions{FieldManager: manager})
		return err
	}
	for _, step := range []struct {
		version, manager string
		spec             map[string]any
		want             string
	}{
		{"v1", "one", map[string]any{"a": "1"}, ""},
		{"v2", "two", map[string]any{"a": "1", "b": "1"}, "failed to convert new object: .spec.b: field not declared in schema"},
		{"v2", "two", map[string]any{"a": "1"}, ""},
		{"v2", "two", map[string]any{"a": "1", "b": "1"}, "failed to prune fields: failed add back owned items: failed to convert merged object at version art.example.com/v1: .spec.b: field not declared in schema"},
	} {
		if err := apply(step.version, step.manager, step.spec); (err == nil) != (step.want == "") || err != nil && !strings.Contains(err.Error(), step.want) {
			t.Errorf("%s applies %v in %s: %v, want %q", step.manager, step.spec, step.version, err, step.want)
		}
	}
}
