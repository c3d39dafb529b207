package description

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	openapiv2 "github.com/google/gnostic-models/openapiv2"
	openapiv3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds"
)

// everyVersion returns the built-in kinds in all their versions.
func everyVersion(t *testing.T) []*api.Resource {
	t.Helper()
	gates, err := features.New(map[string]bool{
		"ClusterTrustBundle": true, "GenericWorkload": true, "PodCertificateRequest": true, "StorageVersionMigrator": true,
	})
	if err != nil {
		t.Fatal(err)
	}
	all, err := api.Enable(kinds.For(gates), api.VersionOptions{Config: map[string]string{"api/all": "true"}, Gates: gates})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// index returns the URLs of the documents of version 3 by name.
func index(t *testing.T, h http.Handler) map[string]string {
	t.Helper()
	var got struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	w := send(t, h, http.MethodGet, "/openapi/v3")
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("code %d: %v", w.Code, err)
	}
	out := map[string]string{}
	for name, place := range got.Paths {
		out[name] = place.ServerRelativeURL
	}
	return out
}

// TestOpenAPIDocuments checks that every document in the index is valid OpenAPI, contains all
// definitions to which it refers, and has all paths of its resources.
func TestOpenAPIDocuments(t *testing.T) {
	h := newHandlerWith(t, func(c *Config) { c.Issuer = &authn.Discovery{Issuer: "https://issuer.example.com"} }, everyVersion(t)...)
	places := index(t, h)
	if places[".well-known/openid-configuration"] == "" || places["openid/v1/jwks"] == "" {
		t.Error("no documents of the issuer of tokens")
	}
	ids := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(places)) {
		content := send(t, h, http.MethodGet, places[name]).Body.Bytes()
		parsed, err := openapiv3.ParseDocument(content) // fails on unknown fields
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var doc spec3.OpenAPI
		if err := json.Unmarshal(content, &doc); err != nil {
			t.Fatal(err)
		}
		checkReferences(t, name, content, doc.Components.Schemas)
		for path, item := range doc.Paths.Paths {
			for _, op := range []*spec3.Operation{item.Get, item.Put, item.Post, item.Delete, item.Patch} {
				if op == nil {
					continue
				}
				if other := ids[op.OperationId]; other != "" {
					t.Errorf("%s: %s has the id %s of %s", name, path, op.OperationId, other)
				}
				ids[op.OperationId] = path
			}
		}
		w := send(t, h, http.MethodGet, "/openapi/v3/"+name, "Accept", openAPIv3Protobuf)
		var decoded openapiv3.Document
		if err := proto.Unmarshal(w.Body.Bytes(), &decoded); err != nil || !proto.Equal(&decoded, parsed) {
			t.Errorf("%s: the protobuf differs; err %v", name, err)
		}
	}
	for _, g := range h.Catalogue.Groups() {
		for _, gv := range g.Versions {
			for _, res := range h.Catalogue.In(gv) {
				if !slices.ContainsFunc(slices.Collect(maps.Values(ids)), func(path string) bool { return strings.Contains(path, "/"+res.Name) }) {
					t.Errorf("no path of %s in %s", res.Name, gv)
				}
			}
		}
	}
}

func checkReferences[T any](t *testing.T, name string, content []byte, schemas map[string]T) {
	t.Helper()
	const mark = `"$ref":"#/components/schemas/`
	for rest := string(content); ; {
		_, after, ok := strings.Cut(rest, mark)
		if !ok {
			return
		}
		ref, after, _ := strings.Cut(after, `"`)
		if _, ok := schemas[ref]; !ok {
			t.Errorf("%s: refers to %s", name, ref)
		}
		rest = after
	}
}

// TestOpenAPILayout checks that the members of all documents are in the order of the types with which
// kube-apiserver writes them.
func TestOpenAPILayout(t *testing.T) {
	h := newHandlerWith(t, nil, everyVersion(t)...)
	check := func(url string, got, want []byte) {
		t.Helper()
		if bytes.Equal(got, want) {
			return
		}
		n := 0
		for n < min(len(got), len(want)) && got[n] == want[n] {
			n++
		}
		t.Errorf("%s: at %d: %.100s, want %.100s", url, n, got[max(n-30, 0):], want[max(n-30, 0):])
	}
	for _, url := range index(t, h) {
		got := send(t, h, http.MethodGet, url).Body.Bytes()
		var doc spec3.OpenAPI
		if err := json.Unmarshal(got, &doc); err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		for _, path := range doc.Paths.Paths {
			for _, op := range []*spec3.Operation{path.Get, path.Put, path.Post, path.Delete, path.Options, path.Head, path.Patch} {
				typeKind(t, op)
			}
		}
		want, err := json.Marshal(&doc)
		if err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		check(url, got, want)
	}
	got := send(t, h, http.MethodGet, "/openapi/v2").Body.Bytes()
	var doc spec.Swagger
	if err := json.Unmarshal(got, &doc); err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(&doc)
	if err != nil {
		t.Fatal(err)
	}
	check("/openapi/v2", got, unescapeHTML(want))
}

// typeKind gives the kind of an operation the Go type that it has in kube-apiserver.
func typeKind(t *testing.T, op *spec3.Operation) {
	t.Helper()
	if op == nil || op.Extensions["x-kubernetes-group-version-kind"] == nil {
		return
	}
	text, err := json.Marshal(op.Extensions["x-kubernetes-group-version-kind"])
	if err != nil {
		t.Fatal(err)
	}
	var kind metav1.GroupVersionKind
	if err := json.Unmarshal(text, &kind); err != nil {
		t.Fatal(err)
	}
	op.Extensions["x-kubernetes-group-version-kind"] = kind
}

// unescapeHTML removes the escapes that json.Marshal adds to what kube-apiserver writes without them.
func unescapeHTML(text []byte) []byte {
	for escaped, plain := range map[string]string{`\u003c`: "<", `\u003e`: ">", `\u0026`: "&"} {
		text = bytes.ReplaceAll(text, []byte(escaped), []byte(plain))
	}
	return text
}

// TestOpenAPIv2 checks that the document of version 2 is valid OpenAPI, also in protobuf.
func TestOpenAPIv2(t *testing.T) {
	h := newHandlerOf(t, everyVersion(t)...)
	w := send(t, h, http.MethodGet, "/openapi/v2", "Accept", "application/json")
	parsed, err := openapiv2.ParseDocument(w.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(w.Body.Bytes(), []byte("#/components/")) {
		t.Error("a reference has the form of version 3")
	}
	w = send(t, h, http.MethodGet, "/openapi/v2", "Accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
	var decoded openapiv2.Document
	if err := proto.Unmarshal(w.Body.Bytes(), &decoded); err != nil || !proto.Equal(&decoded, parsed) {
		t.Errorf("the protobuf differs; err %v", err)
	}
}

// few returns two resources, for fast tests.
func few() []*api.Resource {
	return slices.DeleteFunc(kinds.All(), func(r *api.Resource) bool { return r.Name != "configmaps" && r.Name != "leases" })
}

// TestServeOpenAPI checks the headers of responses with documents.
func TestServeOpenAPI(t *testing.T) {
	h := newHandlerOf(t, few()...)
	place := index(t, h)["api/v1"]
	etag := send(t, h, http.MethodGet, place).Header().Get("Etag")
	for _, c := range []struct {
		name, url string
		headers   []string
		code      int
		want      map[string]string
	}{
		{"index", "/openapi/v3", nil, 200, map[string]string{"Content-Type": "text/plain; charset=utf-8"}},
		{"no hash", "/openapi/v3/api/v1", nil, 200, map[string]string{"Content-Type": "application/json", "Cache-Control": "", "Etag": etag}},
		{"its hash", place, nil, 200, map[string]string{"Cache-Control": "public, immutable", "Expires": "Mon, 09 Sep 2002 01:46:40 GMT"}},
		{"another hash", "/openapi/v3/api/v1?hash=A", nil, 301, map[string]string{"Location": place}},
		{"not changed", place, []string{"If-None-Match", etag}, 304, nil},
		{"gzip", "/openapi/v2", []string{"Accept-Encoding", "gzip"}, 200, map[string]string{"Content-Encoding": "gzip"}},
		{"no gzip", "/openapi/v2", []string{"Accept-Encoding", "gzip;q=1, br"}, 200, map[string]string{"Content-Encoding": ""}},
		{"version 3 is not compressed", place, []string{"Accept-Encoding", "gzip"}, 200, map[string]string{"Content-Encoding": "", "Vary": "Accept"}},
		{"version 3 as protobuf", place, []string{"Accept", openAPIv3Protobuf + ", */*"}, 200, map[string]string{"Content-Type": openAPIv3Protobuf}},
		{"version 3 as protobuf, old media type", place, []string{"Accept", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"}, 200, map[string]string{"Content-Type": openAPIv3Protobuf}},
		{"version 3 as something else", place, []string{"Accept", "application/xml"}, 406, map[string]string{"Vary": "Accept"}},
		{"version 3 as nothing", place, []string{"Accept", "garbage"}, 200, map[string]string{"Content-Type": "", "Vary": ""}},
		{"unknown version", "/openapi/v3/apis/apps/v7", nil, 404, nil},
		{"version 2", "/openapi/v2", nil, 200, map[string]string{"Content-Type": "application/json"}},
		{"version 2, best offer", "/openapi/v2", []string{"Accept", "application/xml, application/json;q=0.1, " + openAPIv2Protobuf + ";q=0.5"}, 200, map[string]string{"Content-Type": openAPIv2Protobuf}},
		{"version 2 as something else", "/openapi/v2", []string{"Accept", "application/xml"}, 406, map[string]string{"Vary": "Accept-Encoding"}},
	} {
		w := send(t, h, http.MethodGet, c.url, c.headers...)
		if w.Code != c.code {
			t.Errorf("%s: code %d, want %d", c.name, w.Code, c.code)
		}
		for header, want := range c.want {
			if got := w.Header().Get(header); got != want {
				t.Errorf("%s: %s is %q, want %q", c.name, header, got, want)
			}
		}
	}
}

// TestOpenAPIFollowsTheCatalogue checks that a change of a group appears in the documents, and
// leaves the documents of other groups in the cache.
func TestOpenAPIFollowsTheCatalogue(t *testing.T) {
	all := few()
	h := newHandlerOf(t, all...)
	before := index(t, h)
	unchanged := h.schemas.byName["api/v1"]
	if err := h.Catalogue.Replace(all[:1]...); err != nil {
		t.Fatal(err)
	}
	if w := send(t, h, http.MethodGet, "/openapi/v3/apis/coordination.k8s.io/v1"); w.Code != http.StatusNotFound {
		t.Errorf("the document of a removed version: code %d", w.Code)
	}
	after := index(t, h)
	if len(after) != len(before)-2 || after["api/v1"] != before["api/v1"] || h.schemas.byName["api/v1"] != unchanged {
		t.Errorf("before %v\nafter %v", before, after)
	}
	if bytes.Contains(send(t, h, http.MethodGet, "/openapi/v2").Body.Bytes(), []byte("/apis/coordination")) {
		t.Error("version 2 has a removed path")
	}
}

// BenchmarkOpenAPIIndex measures the first index of version 3.
func BenchmarkOpenAPIIndex(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		h := newHandlerOf(b, kinds.All()...)
		if w := send(b, h, http.MethodGet, "/openapi/v3"); w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
	}
}

// TestIndexVersion checks that each content of the index has a time of its own in seconds.
func TestIndexVersion(t *testing.T) {
	var v indexVersion
	start := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	seen := map[int64]string{}
	for i, body := range []string{"a", "b", "b", "c", "d"} {
		at := v.modifiedAt([]byte(body), start.Add(time.Duration(i)*time.Millisecond)).Unix()
		if other, ok := seen[at]; ok && other != body {
			t.Errorf("%s and %s have one time", body, other)
		}
		seen[at] = body
	}
}
