package openapi

import (
	"encoding/json"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestKindsOfGroupVersions checks that a document lists the types of every group version under its own
// one and the core one.
func TestKindsOfGroupVersions(t *testing.T) {
	configMaps := Resource{Name: "configmaps", Kind: "ConfigMap", Verbs: everyVerb(),
		Model: "io.k8s.api.core.v1.ConfigMap", ListModel: "io.k8s.api.core.v1.ConfigMapList"}
	leases := Resource{Name: "leases", Kind: "Lease", Verbs: everyVerb(),
		Model: "io.k8s.api.coordination.v1.Lease", ListModel: "io.k8s.api.coordination.v1.LeaseList"}
	for _, c := range []struct {
		gv       schema.GroupVersion
		resource Resource
		want     []string
	}{
		{schema.GroupVersion{Version: "v1"}, configMaps, []string{"v1"}},
		{schema.GroupVersion{Group: "coordination.k8s.io", Version: "v1"}, leases, []string{"v1", "coordination.k8s.io/v1"}},
	} {
		content, err := VersionDocument(c.gv, []Resource{c.resource}).V3(Info{}, open(t))
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Components struct {
				Schemas map[string]struct {
					Kinds []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
				}
			}
		}
		if err := json.Unmarshal(content, &doc); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{modelDeleteOptions, modelWatchEvent} {
			var got []string
			for _, kind := range doc.Components.Schemas[name].Kinds {
				got = append(got, kind.GroupVersion().String())
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: %s belongs to %q, want %q", c.gv, name, got, c.want)
			}
		}
	}
}
