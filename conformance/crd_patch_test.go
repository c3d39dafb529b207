package conformance

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestPatchedToNothing checks that a patch which removes a custom object's content, or replaces it
// by another type, is rejected.
func TestPatchedToNothing(t *testing.T) {
	srv, _ := startWith(t, server.Options{})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	define(t, c, anyKind("art.example.com", map[string]any{"plural": "paints", "kind": "Paint"}))
	paints := c.Resource(ownedResource.GroupVersion().WithResource("paints"))
	if _, err := paints.Create(t.Context(), paint("v1", "a", "red"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"null", "{}", "[]", `"x"`, "7"} {
		patch := []byte(`[{"op":"replace","path":"","value":` + value + `}]`)
		if _, err := paints.Patch(t.Context(), "a", types.JSONPatchType, patch, metav1.PatchOptions{}); !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", value, err)
		}
	}
}

// TestPatchedNameFirst checks that a patch which removes the name and the version of a custom object is
// refused for the name, and one that removes the version for the version.
func TestPatchedNameFirst(t *testing.T) {
	srv, _ := startWith(t, server.Options{})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	define(t, c, anyKind("art.example.com", map[string]any{"plural": "paints", "kind": "Paint"}))
	paints := c.Resource(ownedResource.GroupVersion().WithResource("paints"))
	if _, err := paints.Create(t.Context(), paint("v1", "a", "red"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for patch, want := range map[string]string{
		`[{"op":"remove","path":"/apiVersion"},{"op":"remove","path":"/metadata"}]`:            "the name of the object (a based on URL) was undeterminable: name must be provided",
		`[{"op":"replace","path":"/kind","value":"Other"},{"op":"remove","path":"/metadata"}]`: "the name of the object (a based on URL) was undeterminable: name must be provided",
		`[{"op":"remove","path":"/apiVersion"}]`:                                               "Object 'apiVersion' is missing in 'object has no apiVersion field'",
		`[{"op":"replace","path":"/kind","value":"Other"}]`:                                    `kind: Invalid value: "Other": must be Paint`,
	} {
		if _, err := paints.Patch(t.Context(), "a", types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", patch, err)
		}
	}
}
