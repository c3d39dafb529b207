package snapshot

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/spec3"

	"github.com/miniapiserver/miniapiserver/internal/schematest"
	"github.com/miniapiserver/miniapiserver/server"
)

// TestSchemas lists every resource in every version that there is, and what is
// listed is valid by the schema that the server publishes for that version.
func TestSchemas(t *testing.T) {
	c := newClient(t, restored(t, server.Options{RuntimeConfig: map[string]string{"api/all": "true"}}))
	resources, objects := 0, 0
	for _, version := range c.versions() {
		if version == "/apis/etcdref.aggr.example/v1" {
			continue // of another server, which is not there
		}
		var served metav1.APIResourceList
		c.get(version, &served)
		var doc spec3.OpenAPI
		c.get("/openapi/v3"+version, &doc)
		for _, r := range served.APIResources {
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") {
				continue
			}
			resources++
			v := schematest.New(doc.Components.Schemas, model(t, &doc, served.GroupVersion, r.Kind))
			if v.Validate(map[string]any{"metadata": "nothing"}) == nil {
				t.Errorf("%s %s: anything is valid", version, r.Name)
			}
			var got list
			c.get(version+"/"+r.Name, &got)
			for n, item := range got.Items {
				objects++
				if err := v.Validate(item); err != nil {
					t.Errorf("%s %s: %v", version, names(got.Items)[n], err)
				}
			}
			if len(got.Items) == 0 && r.Name != "componentstatuses" {
				t.Errorf("%s: no %s", version, r.Name)
			}
		}
	}
	if resources < 90 || objects < 200 {
		t.Errorf("only %d resources and %d objects", resources, objects)
	}
}

// versions are the paths of all that is served.
func (c *client) versions() []string {
	var groups metav1.APIGroupList
	c.get("/apis", &groups)
	paths := []string{"/api/v1"}
	for _, g := range groups.Groups {
		for _, v := range g.Versions {
			paths = append(paths, "/apis/"+v.GroupVersion)
		}
	}
	return paths
}

// get reads a JSON answer.
func (c *client) get(path string, into any) {
	c.t.Helper()
	code, body := c.do(http.MethodGet, path, "")
	if code != http.StatusOK {
		c.t.Fatalf("%s: %d %.300s", path, code, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		c.t.Fatalf("%s: %v", path, err)
	}
}

// model is the name of the schema of a kind.
func model(t *testing.T, doc *spec3.OpenAPI, groupVersion, kind string) string {
	t.Helper()
	for name, s := range doc.Components.Schemas {
		var gvks []metav1.GroupVersionKind
		if s.Extensions.GetObject("x-kubernetes-group-version-kind", &gvks) != nil {
			continue
		}
		for _, gvk := range gvks {
			if (metav1.GroupVersion{Group: gvk.Group, Version: gvk.Version}).String() == groupVersion && gvk.Kind == kind {
				return name
			}
		}
	}
	t.Fatalf("%s has no schema of %s", groupVersion, kind)
	return ""
}
