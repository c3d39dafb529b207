package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
)

// TestFaithfulEmulation checks that a server which emulates 1.34 faithfully does not know a field of
// 1.37, however a client sends it, nor a value of 1.35.
func TestFaithfulEmulation(t *testing.T) {
	const (
		pods  = "/api/v1/namespaces/default/pods"
		newer = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"NAME"},"spec":{"containers":[{"name":"c","image":"i"}],"evictionResponders":[{"name":"example.com/responder"}]}}`
		plain = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"plain"},"spec":{"containers":[{"name":"c","image":"i"}]}}`
		gt    = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"gt"},"spec":{"containers":[{"name":"c","image":"i"}],"tolerations":[{"key":"k","operator":"Gt","value":"1"}]}}`
	)
	s := run(t, Options{Emulation: Emulation{Version: "1.34", Faithful: true},
		Admission:     Admission{DisablePlugins: []string{"ServiceAccount"}},
		RuntimeConfig: map[string]string{"storage.k8s.io/v1alpha1": "true"}})
	c := raw(t, s)
	named := func(name string) string { return strings.Replace(newer, "NAME", name, 1) }
	const unknown = `unknown field \"spec.evictionResponders\"`
	for _, r := range []struct {
		what, method, path, contentType, body string
		code                                  int
		want                                  string // in the response
	}{
		{"a strict create", "POST", pods + "?fieldValidation=Strict", "application/json", named("a"), 400, unknown},
		{"a create", "POST", pods, "application/json", named("b"), 201, `"name":"b"`},
		{"a plain create", "POST", pods + "?fieldValidation=Strict", "application/json", plain, 201, `"name":"plain"`},
		{"a merge patch", "PATCH", pods + "/plain?fieldValidation=Strict", "application/merge-patch+json", `{"spec":{"evictionResponders":[{"name":"a.b/c"}]}}`, 422, unknown},
		{"a strategic merge patch", "PATCH", pods + "/plain?fieldValidation=Strict", "application/strategic-merge-patch+json", `{"spec":{"evictionResponders":[{"name":"a.b/c"}]}}`, 422, unknown},
		{"an apply", "PATCH", pods + "/d?fieldManager=m", "application/apply-patch+yaml", named("d"), 500, "field not declared in schema"},
		{"a value of 1.35", "POST", pods, "application/json", gt, 422, `Unsupported value: \"Gt\": supported values: \"Equal\", \"Exists\"`},
	} {
		res, body := send(t, c, s, r.method, r.path, r.contentType, r.body)
		if res.StatusCode != r.code || !strings.Contains(body, r.want) {
			t.Errorf("%s: %d %s, want %d %s", r.what, res.StatusCode, body, r.code, r.want)
		}
		if r.what == "a create" && !strings.Contains(strings.Join(res.Header["Warning"], "\n"), unknown) {
			t.Errorf("%s: warnings %q", r.what, res.Header["Warning"])
		}
	}
	// kube-apiserver 1.34 has this version; its emulation by 1.37 does not.
	if res, body := send(t, c, s, http.MethodGet, "/apis/storage.k8s.io/v1alpha1/volumeattributesclasses", "", ""); res.StatusCode != http.StatusOK {
		t.Errorf("storage.k8s.io/v1alpha1: %d %s", res.StatusCode, body)
	}
	if _, body := send(t, c, s, http.MethodGet, pods+"/b", "", ""); strings.Contains(body, "evictionResponders") {
		t.Errorf("stored: %s", body)
	}
	for _, path := range []string{"/openapi/v2", "/openapi/v3/api/v1"} {
		if _, body := send(t, c, s, http.MethodGet, path, "", ""); strings.Contains(body, "evictionResponders") || !strings.Contains(body, "restartPolicy") {
			t.Errorf("%s describes evictionResponders, or not a pod", path)
		}
	}
}

// TestEmulationKeepsFields checks that without --faithful-emulation the definitions are those of the
// newest release, as in kube-apiserver.
func TestEmulationKeepsFields(t *testing.T) {
	s := run(t, Options{Emulation: Emulation{Version: "1.34"}})
	if _, body := send(t, raw(t, s), s, http.MethodGet, "/openapi/v3/api/v1", "", ""); !strings.Contains(body, "evictionResponders") {
		t.Error("OpenAPI does not describe a field of the newest release")
	}
}

// TestFaithfulSchemas checks that a definition's formats of numbers are documentation in a faithful emulation
// of 1.35, and that kube-apiserver's emulation enforces them.
func TestFaithfulSchemas(t *testing.T) {
	const definition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"ships.example.com"},"spec":{"group":"example.com","scope":"Cluster",
		"names":{"plural":"ships","kind":"Ship"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"crew":{"type":"integer","format":"int32"}}}}}]}}`
	for faithful, want := range map[bool]int{true: 201, false: 422} {
		s := run(t, Options{Emulation: Emulation{Version: "1.35", Faithful: faithful}})
		c := raw(t, s)
		if res, body := send(t, c, s, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", definition); res.StatusCode != http.StatusCreated {
			t.Fatalf("definition: %d %s", res.StatusCode, body)
		}
		var code int
		var body string
		eventually.True(t, "the definition is served", func() bool {
			var res *http.Response
			res, body = send(t, c, s, http.MethodPost, "/apis/example.com/v1/ships", "application/json", `{"apiVersion":"example.com/v1","kind":"Ship","metadata":{"name":"a"},"crew":4294967296}`)
			code = res.StatusCode
			return code != http.StatusNotFound
		})
		if code != want {
			t.Errorf("faithful %v: %d %s, want %d", faithful, code, body, want)
		}
	}
}
