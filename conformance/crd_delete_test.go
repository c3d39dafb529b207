package conformance

import (
	"encoding/json"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestDeleteDefinitionTwice checks that the first deletion only starts the deletion, whatever its
// options, and that the second one responds as for any terminating object.
func TestDeleteDefinitionTwice(t *testing.T) {
	srv, kube := startWith(t, server.Options{})
	d := anyKind("art.example.com", map[string]any{"plural": "paints", "kind": "Paint"})
	d.SetFinalizers([]string{"example.com/mine"})
	define(t, dynamic.NewForConfigOrDie(srv.RESTConfig()), d)
	foreground := metav1.DeletePropagationForeground
	for i, again := range []bool{false, true} {
		data, err := kube.CoreV1().RESTClient().Delete().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + d.GetName()).
			Body(&metav1.DeleteOptions{PropagationPolicy: &foreground}).DoRaw(t.Context())
		var is unstructured.Unstructured
		if err == nil {
			err = json.Unmarshal(data, &is)
		}
		if err != nil || is.GetDeletionTimestamp() == nil || !slices.Contains(is.GetFinalizers(), "example.com/mine") {
			t.Fatalf("deletion %d: %s, %v", i, data, err)
		}
		if seconds := is.GetDeletionGracePeriodSeconds(); again != (seconds != nil && *seconds == 0) ||
			again != slices.Contains(is.GetFinalizers(), metav1.FinalizerDeleteDependents) {
			t.Errorf("deletion %d: %s", i, data)
		}
	}
}
