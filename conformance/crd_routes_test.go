package conformance

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestCustomRoutes checks that custom resources are routed by verb alone:
// kube-apiserver registers no paths for them.
func TestCustomRoutes(t *testing.T) {
	srv, _ := startWith(t, server.Options{})
	n := namesake{plural: "roads", kind: "Road"}
	define(t, dynamic.NewForConfigOrDie(srv.RESTConfig()), n.definition())
	client, err := rest.HTTPClientFor(srv.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	const (
		merge, strategic = "application/merge-patch+json", "application/strategic-merge-patch+json"
		jsonPatch, apply = "application/json-patch+json", "application/apply-patch+yaml"
	)
	scale := func(replicas string) string {
		return `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a"},"spec":{"replicas":` + replicas + `}}`
	}
	object := func(name string) string {
		return `{"apiVersion":"example.com/v1","kind":"Road","metadata":{"name":"` + name + `"},"spec":{"replicas":1}}`
	}
	for _, test := range []struct {
		method, path, contentType, body string
		code                            int
		want                            string
	}{
		{"POST", "/roads", "", object("a"), 404, "404 page not found"},
		{"DELETE", "/roads", "", "", 404, "404 page not found"},
		{"PUT", "/roads/a", "", object("a"), 404, "404 page not found"},
		{"GET", "/roads", "", "", 200, `"RoadList"`},
		{"HEAD", "/roads", "", "", 200, ""},
		{"POST", "/namespaces/default/roads", "", object("a"), 201, `"name":"a"`},
		{"POST", "/namespaces/default/roads/other", "", object("b"), 201, `"name":"b"`},
		{"HEAD", "/namespaces/default/roads/a", "", "", 200, ""},
		{"HEAD", "/namespaces/default/roads/none", "", "", 404, ""},
		{"PUT", "/namespaces/default/roads", "", object("a"), 400, "name must be provided"},
		{"PATCH", "/namespaces/default/roads", merge, "{}", 400, "name must be provided"},
		{"FETCH", "/namespaces/default/roads/a", "", "", 405, `"reason":"MethodNotAllowed"`},
		{"POST", "/namespaces/default/roads/a/status", "", object("a"), 405, "create is not supported on resources of kind"},
		{"GET", "/namespaces/default/roads/a/none", "", "", 404, `roads.example.com \"a\" not found`},
		{"GET", "/namespaces/default/roads/a/status/more", "", "", 200, `"name":"a"`},
		{"PATCH", "/namespaces/default/roads/a/scale", strategic, "{}", 415, "accepted media types include: application/json-patch+json"},
		{"PATCH", "/namespaces/default/roads/a/scale", merge, `{"spec":{"replicas":2}}`, 200, `"replicas":2`},
		// Patches see the managers of a scale's fields.
		{"PATCH", "/namespaces/default/roads/a/scale", jsonPatch, `[{"op":"remove","path":"/metadata/managedFields"}]`, 200, `"replicas":2`},
		{"PATCH", "/namespaces/default/roads/a/scale", merge, `{"metadata":{"name":"b","namespace":"x"}}`, 400, "the namespace of the provided object does not match"},
		// kube-apiserver does not know the Scale of custom kinds where it reports errors and converts applied objects.
		{"PUT", "/namespaces/default/roads/a/scale", "", scale(`"x"`), 400, `no kind is registered for the type v1.Scale in scheme`},
		{"PATCH", "/namespaces/default/roads/a/scale?fieldManager=m&force=true", apply, scale("2"), 200, `"replicas":2`},
		{"PATCH", "/namespaces/default/roads/a/scale?fieldManager=m&force=true", apply, scale("3"), 500, "failed to convert new object (/a; autoscaling/v1, Kind=Scale) to proper version: " +
			"request to convert CR to an invalid group/version: autoscaling/v1"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), test.method, srv.URL+"/apis/example.com/v1"+test.path, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", test.contentType)
		if test.contentType == "" {
			req.Header.Set("Content-Type", "application/json")
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != test.code || !strings.Contains(string(body), test.want) {
			t.Errorf("%s %s: got %d %s (%v), want %d with %q", test.method, test.path, resp.StatusCode, body, err, test.code, test.want)
		}
	}
}
