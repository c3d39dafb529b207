package description

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	v2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/kinds"
	"github.com/miniapiserver/miniapiserver/proto"
	"github.com/miniapiserver/miniapiserver/request"
)

// customResource returns a custom kind without a schema.
func customResource(group string, n int) *api.Resource {
	name := fmt.Sprintf("kinds%d", n)
	return &api.Resource{
		AnyKind: api.AnyKind{
			Names:    api.Names{Name: name, Singular: name, Kind: "K" + name},
			Versions: []api.Version{{GroupVersion: schema.GroupVersion{Group: group, Version: "v1"}}},
			Storage:  api.Storage{Prefix: group + "/" + name},
		},
		New:    func() api.Object { return &unstructured.Unstructured{} },
		Custom: &api.Custom{},
	}
}

// TestAggregatedFollowsTheCatalogue checks that the document equals the encoding of its list, and
// that changes of a group appear in it.
func TestAggregatedFollowsTheCatalogue(t *testing.T) {
	h := newHandler(t, nil)
	encoded := func() []byte {
		t.Helper()
		w := send(t, h, http.MethodGet, "/apis", "Accept", representation.MediaJSON+aggregatedParam)
		var list v2.APIGroupDiscoveryList
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(&list)
		if err != nil || !bytes.Equal(append(encoded, '\n'), w.Body.Bytes()) {
			t.Errorf("the JSON differs from that of the list: %v", err)
		}
		raw, err := list.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		w = send(t, h, http.MethodGet, "/apis", "Accept", representation.MediaProtobuf+aggregatedParam)
		if !bytes.Equal(w.Body.Bytes(), proto.AppendRaw(nil, list.APIVersion, list.Kind, raw)) {
			t.Error("the protobuf differs from that of the list")
		}
		return encoded
	}
	before := encoded()
	one := []*api.Resource{customResource("g.example.com", 1)}
	if err := h.Catalogue.Change(nil, one); err != nil {
		t.Fatal(err)
	}
	if with := encoded(); !bytes.Contains(with, []byte("g.example.com")) {
		t.Error("a new group is missing")
	}
	if err := h.Catalogue.Change(one, []*api.Resource{customResource("g.example.com", 2)}); err != nil {
		t.Fatal(err)
	}
	if changed := encoded(); bytes.Contains(changed, []byte("kinds1")) || !bytes.Contains(changed, []byte("kinds2")) {
		t.Error("a change of a group is missing")
	}
	if err := h.Catalogue.Replace(kinds.All()...); err != nil {
		t.Fatal(err)
	}
	if after := encoded(); !bytes.Equal(before, after) {
		t.Error("the document differs after all changes were undone")
	}
}

// TestAggregatedDiscovery checks for which Accept headers the aggregated document is served.
func TestAggregatedDiscovery(t *testing.T) {
	h := newHandler(t, nil)
	const accept = representation.MediaJSON + aggregatedParam + "," + representation.MediaJSON
	for _, path := range []string{"/api", "/apis"} {
		w := send(t, h, http.MethodGet, path, "Accept", accept)
		etag := w.Header().Get("ETag")
		if w.Code != 200 || w.Header().Get("Content-Type") != representation.MediaJSON+aggregatedParam || !strings.Contains(w.Body.String(), aggregatedKind) || len(etag) != 130 {
			t.Errorf("%s: %d %s", path, w.Code, w.Header())
		}
		if w := send(t, h, http.MethodGet, path, "Accept", accept, "If-None-Match", etag); w.Code != http.StatusNotModified || w.Body.Len() != 0 {
			t.Errorf("%s, not changed: %d %s", path, w.Code, w.Body)
		}
		// As in kube-apiserver, the aggregated document is served whatever else a client accepts.
		for other, media := range map[string]string{
			representation.MediaJSON + ";q=1," + representation.MediaJSON + aggregatedParam + ";q=0.5": representation.MediaJSON,
			representation.MediaJSON + aggregatedParam + ";q=0," + representation.MediaJSON:            representation.MediaJSON,
			"text/html, */*" + aggregatedParam:                                                         representation.MediaJSON,
			representation.MediaYAML + aggregatedParam + "," + accept:                                  representation.MediaYAML,
			representation.MediaProtobuf + aggregatedParam:                                             representation.MediaProtobuf,
		} {
			if w := send(t, h, http.MethodGet, path, "Accept", other); w.Code != 200 || w.Header().Get("Content-Type") != media+aggregatedParam || w.Header().Get("ETag") != etag {
				t.Errorf("%s for %q: %d %s", path, other, w.Code, w.Header())
			}
		}
		if w := send(t, h, http.MethodGet, path, "Accept", accept, "User-Agent", "curl/8"); !strings.HasPrefix(w.Body.String(), "{\n  \"kind\"") || strings.HasSuffix(w.Body.String(), "\n") {
			t.Errorf("%s for curl: %.100s", path, w.Body)
		}
		if w := send(t, h, http.MethodGet, path, "Accept", representation.MediaYAML+aggregatedParam); !strings.HasPrefix(w.Body.String(), "apiVersion: apidiscovery.k8s.io/v2\n") {
			t.Errorf("%s in YAML: %.100s", path, w.Body)
		}
		for _, plain := range []string{"", representation.MediaJSON, strings.Replace(accept, "v=v2;", "v=v3;", 1)} {
			if w := send(t, h, http.MethodGet, path, "Accept", plain); w.Code != 200 || strings.Contains(w.Body.String(), aggregatedKind) {
				t.Errorf("%s for %q: %d %.100s", path, plain, w.Code, w.Body)
			}
		}
		if vary := w.Header().Values("Vary"); !slices.Contains(vary, "Accept") {
			t.Errorf("%s: Vary is %q", path, vary)
		}
	}
}

// TestDiscoveryPaths checks what differs between the paths of discovery, as in kube-apiserver.
func TestDiscoveryPaths(t *testing.T) {
	h := newHandler(t, nil)
	for path, code := range map[string]int{"/api": http.StatusNotAcceptable, "/apis": http.StatusOK} {
		if w := send(t, h, http.MethodGet, path, "Accept", "application/*"+aggregatedParam); w.Code != code {
			t.Errorf("%s: got %d %.100s", path, w.Code, w.Body)
		}
	}
	w := send(t, h, http.MethodGet, "/apis/", "Accept", representation.MediaJSON+aggregatedParam+","+representation.MediaJSON)
	if w.Code != 200 || !strings.Contains(w.Body.String(), "APIGroupList") {
		t.Errorf("got %d %.100s", w.Code, w.Body)
	}
	// Documents without a version have none in their envelopes.
	for path, want := range map[string]string{"/api": "", "/api/v1": "", "/apis": "v1", "/apis/apps/v1": "v1"} {
		e, err := proto.Decode(send(t, h, http.MethodGet, path, "Accept", representation.MediaProtobuf).Body.Bytes())
		if err != nil || e.APIVersion != want {
			t.Errorf("%s: version %q, %v", path, e.APIVersion, err)
		}
	}
}

// BenchmarkDiscoveryOfOneMore measures the document after a kind is added to many.
func BenchmarkDiscoveryOfOneMore(b *testing.B) {
	for _, others := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(others), func(b *testing.B) {
			h := newHandler(b, nil)
			for i := range others {
				if err := h.Catalogue.Change(nil, []*api.Resource{customResource(fmt.Sprintf("g%d.example.com", i/10), i)}); err != nil {
					b.Fatal(err)
				}
			}
			one := []*api.Resource{customResource("g0.example.com", others)}
			b.ReportAllocs()
			for b.Loop() {
				if err := h.Catalogue.Change(nil, one); err != nil {
					b.Fatal(err)
				}
				send(b, h, http.MethodGet, "/apis", "Accept", representation.MediaJSON+aggregatedParam)
				if err := h.Catalogue.Change(one, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// FuzzAggregatedWanted checks that no Accept header makes discovery panic.
func FuzzAggregatedWanted(f *testing.F) {
	f.Add("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,*/*;q=0.5")
	f.Add(";;,,")
	f.Fuzz(func(t *testing.T, accept string) {
		r := httptest.NewRequest(http.MethodGet, "/apis", nil)
		r.Header.Set("Accept", accept)
		r = r.WithContext(request.With(r.Context(), &request.Scope{}))
		kind := schema.GroupVersionKind{Group: aggregatedGroup, Version: "v2", Kind: aggregatedKind}
		if _, ok := (&representation.Responder{CBOR: true}).NegotiateAs(r, kind); ok && !strings.Contains(accept, aggregatedKind) {
			t.Error("an aggregated document for a client that did not ask for it")
		}
	})
}
