package handlers

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/request"
)

// TestResponses checks the code and a part of the body of many requests.
func TestResponses(t *testing.T) {
	h := newHandler(t, nil)
	addMaps(t, h, "a")
	large := `{"metadata":{"name":"l"},"data":{"k":"` + strings.Repeat("x", bounds.MaxBody) + `"}}`
	for _, c := range []struct {
		request, body string
		headers       []string
		code          int
		text          string
	}{
		// Paths and methods.
		{"GET /nothing", "", nil, 404, "404 page not found"},
		{"GET /api/v2/pods", "", nil, 404, "the server could not find the requested resource"},
		{"GET /api/v1/nothing", "", nil, 404, "the server could not find the requested resource"},
		{"GET /api/v1/namespaces//configmaps", "", nil, 200, ""},
		{"POST /api/v1/namespaces//configmaps", "{}", nil, 405, ""},
		{"GET /api//v1/configmaps", "", nil, 404, ""},
		{"GET " + mapsPath + "/a/status", "", nil, 404, ""},
		{"GET " + mapsPath + "/a/b/c", "", nil, 404, ""},
		{"GET " + mapsPath + "/%2e%2e", "", nil, 400, "Name parameter invalid"},
		{"HEAD " + mapsPath, "", nil, 405, ""},
		{"HEAD " + mapsPath + "/a", "", nil, 405, ""},
		{"OPTIONS " + mapsPath, "", nil, 405, ""},
		{"POST " + mapsPath + "/a", "", nil, 405, "the server does not allow this method"},
		{"PUT " + mapsPath, "", nil, 405, ""},
		{"POST /api/v1/configmaps", "{}", nil, 405, ""},
		{"GET /api/v1/watch?a=<b>", "", nil, 500, `"/api/v1/watch?a=&lt;b&gt;": failed to create RequestInfo: unable to determine kind and namespace from url`},
		{"GET /api/v1/componentstatuses?watch=1", "", nil, 405, `watch is not supported on resources of kind \"componentstatuses\"`},
		{"GET /api/v1/componentstatuses?watch=1", "", []string{"Accept", "text/html"}, 406, "406: Not Acceptable"},
		{"GET /api/v1/componentstatuses?watch=1&labelSelector=a%3Db%3Dc", "", nil, 400, "found '=', expected: ','"},
		{"GET /api/v1/componentstatuses", "", []string{"Accept", "text/html"}, 406, "application/vnd.kubernetes.protobuf;stream=watch"},
		{"DELETE " + mapsPath + "/a", `{"kind":"CreateOptions","apiVersion":"apps/v1"}`, nil, 400, "converting (v1.CreateOptions) to (v1.DeleteOptions): unknown conversion"},
		{"DELETE " + mapsPath + "/a", `{"kind":"DeleteOptions","apiVersion":"x/"}`, nil, 400, "Object 'apiVersion' is missing in"},
		{"DELETE " + mapsPath + "/a", `{"kind":"Foo","apiVersion":"meta.k8s.io/"}`, nil, 400, `no kind \"Foo\" is registered for version \"meta.k8s.io/v1\"`},
		{"DELETE " + mapsPath + "/a", `{"kind":"Status","apiVersion":"v7"}`, nil, 400, "converting (v1.Status) to (v1.DeleteOptions): unknown conversion"},
		{"DELETE " + mapsPath + "/a", `{"kind":"GetOptions","apiVersion":"v1","resourceVersion":1}`, nil, 400, `no kind \"GetOptions\" is registered for version \"v1\"`},
		{"DELETE " + mapsPath + "/a", `{"kind":"GetOptions","apiVersion":"meta.k8s.io/v1","resourceVersion":1}`, nil, 400, "cannot unmarshal number into Go struct field GetOptions.resourceVersion"},
		{"DELETE " + mapsPath + "/a", `{"kind":"Pod","apiVersion":"apps/__internal"}`, nil, 400, `no kind \"Pod\" is registered for the internal version of group \"apps\"`},
		{"POST /api/v1", "", nil, 405, ""},
		{"POST /api/v9", "", nil, 404, ""},
		{"PUT /apis", "", nil, 200, `"APIGroupList"`},
		{"DELETE /apis/apps/", "", nil, 200, `"APIGroup"`},
		{"PATCH /apis/apps/v1", "", nil, 405, ""},
		{"GET /apis/apps", "", []string{"Accept", "text/html"}, 406, "only the following media types are accepted"},
		{"GET /apis/apps/v1", "", []string{"Accept", "text/html"}, 406, "406: Not Acceptable"},
		{"GET " + mapsPath + "?watch=1&continue=x", "", nil, 422, "forbidden when continue is provided"},
		{"DELETE /api/v1/watch/configmaps", "", nil, 405, ""},
		{"GET /api/v1/proxy/namespaces/ns/pods/x", "", nil, 404, ""},
		// Reading.
		{"GET " + mapsPath + "/a", "", nil, 200, `{"kind":"ConfigMap","apiVersion":"v1",`},
		{"GET " + mapsPath + "/b", "", nil, 404, `configmaps \"b\" not found`},
		{"GET " + mapsPath + "/a?export=true", "", nil, 400, "the export parameter, deprecated since v1.14, is no longer supported"},
		{"GET " + mapsPath + "/a?export=false", "", nil, 200, `"ConfigMap"`},
		{"GET " + mapsPath + "/a?resourceVersion=99999999999", "", nil, 504, "Too large resource version"},
		{"GET " + mapsPath + "/a?resourceVersion=18446744073709551615", "", nil, 504, "Too large resource version"},
		{"GET " + mapsPath + "/a?resourceVersion=x", "", nil, 500, `"message":"resourceVersion: Invalid value: \"x\"`},
		{"GET /api/v1/namespaces/ns/events/a?resourceVersion=x", "", nil, 400, "invalid resource version"},
		{"PUT /apis/coordination.k8s.io/v1/namespaces/ns/leases/new", `{"metadata":{"name":"new","resourceVersion":"x"}}`, nil, 500, `"message":"strconv.ParseUint`},
		{"GET /api/v1/watch/namespaces/ns/configmaps?sendInitialEvents=true", "", nil, 422, "sendInitialEvents is forbidden for list"},
		{"GET " + mapsPath + "?resourceVersion=x", "", nil, 400, "invalid resource version"},
		{"GET " + mapsPath + "/a", "", []string{"Accept", "text/html"}, 406, "406: Not Acceptable"},
		{"GET " + mapsPath + "/a", "", []string{"Accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}, 406, "is not a list"},
		{"GET " + mapsPath, "", []string{"Accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}, 406, "is a list"},
		{"DELETE " + mapsPath + "?resourceVersion=x", "{}", nil, 400, "invalid resource version"},
		{"DELETE " + mapsPath + "?resourceVersion=x", "map", nil, 400, "couldn't get version/kind"},
		{"DELETE " + mapsPath + "?labelSelector=a%3Db%3Dc", "map", nil, 400, "found '=', expected"},
		{"GET " + mapsPath + "?includeObject=All", "", []string{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}, 400, "includeObject"},
		// Writing.
		{"POST " + mapsPath, `{"metadata":{"name":"a"}}`, nil, 409, "already exists"},
		{"POST " + mapsPath, `{"metadata":{"name":"b","namespace":"other"}}`, nil, 400, "does not match the namespace"},
		{"POST " + mapsPath + "?dryRun=Some", `{}`, nil, 422, "dryRun"},
		{"POST " + mapsPath, large, nil, 413, "limit is 3145728"},
		{"POST " + mapsPath, `{}`, []string{"Content-Type", "text/plain"}, 415, ""},
		{"PUT " + mapsPath + "/a", `{"metadata":{"name":"b"}}`, nil, 400, "does not match the name on the URL"},
		{"PUT " + mapsPath + "/a", `{}`, nil, 400, "name must be provided"},
		{"PATCH " + mapsPath + "/missing", `{"data":`, []string{"Content-Type", "application/merge-patch+json"}, 400, "invalid JSON patch"},
		{"PATCH " + mapsPath + "/missing", `{"data":1}`, []string{"Content-Type", "application/merge-patch+json"}, 404, ""},
		{"PATCH " + mapsPath + "/a", `{}`, nil, 415, "415: Unsupported Media Type"},
		{"PATCH " + mapsPath + "/a", `{"metadata":{"name":"b"}}`, []string{"Content-Type", "application/merge-patch+json"}, 400, ""},
		{"PATCH " + mapsPath + "/a", `{"data":{"k":1}}`, []string{"Content-Type", "application/merge-patch+json"}, 422, "patch: Invalid value"},
		{"PATCH " + mapsPath + "/a", `[null]`, []string{"Content-Type", "application/json-patch+json"}, 422, ""},
		{"PATCH " + mapsPath + "/a", `[{"op":"remove","path":"/kind"},{"op":"test","path":"/no","value":null}]`, []string{"Content-Type", "application/json-patch+json"}, 200, `{"kind":"ConfigMap","apiVersion":"v1",`},
		{"PATCH " + mapsPath + "/a", `[{"op":"remove","path":"/apiVersion"}]`, []string{"Content-Type", "application/json-patch+json"}, 400, "(a based on URL) was undeterminable"},
		{"PATCH " + mapsPath + "/a?fieldValidation=Strict", `{"apiVersion":null}`, []string{"Content-Type", "application/merge-patch+json"}, 422, `unknown field \"metadata\"`},
		{"PATCH " + mapsPath + "/a", `{"data":[1]}`, []string{"Content-Type", "application/strategic-merge-patch+json"}, 422, "map[data:[1]]\\\": cannot restore map from slice"},
		{"PATCH " + mapsPath + "/a?fieldValidation=Strict", `{"other":1}`, []string{"Content-Type", "application/strategic-merge-patch+json"}, 422, `unknown field \"other\"`},
		{"PATCH " + mapsPath + "/a", `{"kind":"Secret"}`, []string{"Content-Type", "application/strategic-merge-patch+json"}, 200, `{"kind":"ConfigMap","apiVersion":"v1",`},
		{"PATCH " + mapsPath + "/a", `{"metadata":{"resourceVersion":"x"}}`, []string{"Content-Type", "application/merge-patch+json"}, 500, `"message":"strconv.ParseUint`},
		{"DELETE " + mapsPath + "/a", `{"preconditions":{"uid":"x"}}`, nil, 409, "UID in the precondition"},
		{"DELETE " + mapsPath + "/a", `{"kind":"Pod","apiVersion":"v1"}`, nil, 400, ""},
		{"DELETE " + mapsPath + "/a?propagationPolicy=None", ``, nil, 422, "propagationPolicy"},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		w := sendText(t, h, method, path, c.body, c.headers...)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s: %d %.300s, want %d %q", c.request, w.Code, w.Body, c.code, c.text)
		}
	}
	// A body without a Content-Length.
	if w := send(t, h, http.MethodPost, mapsPath, io.MultiReader(strings.NewReader(large))); w.Code != 413 {
		t.Errorf("a large body of unknown length: %d", w.Code)
	}
	if w := sendText(t, h, http.MethodGet, mapsPath+"/a", ""); !strings.Contains(w.Body.String(), `"data":{"k":"v"}`) {
		t.Errorf("what was refused left its traces: %s", w.Body)
	}
}

// page is a page of a list, as far as the tests look at it.
type page struct {
	Metadata struct {
		Continue           string
		RemainingItemCount int
	}
	Items []struct{ Metadata struct{ Name string } }
}

func pageIn(t *testing.T, w *httptest.ResponseRecorder) (p page, names string) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for _, i := range p.Items {
		names += i.Metadata.Name
	}
	return p, names
}

// TestPages checks that all pages of a list show one state.
func TestPages(t *testing.T) {
	h := newHandler(t, nil)
	addMaps(t, h, "a", "b", "c", "d", "e")
	for _, path := range []string{mapsPath, "/api/v1/configmaps"} {
		first, names := pageIn(t, sendText(t, h, http.MethodGet, path+"?limit=2", ""))
		if names != "ab" || first.Metadata.RemainingItemCount != 3 {
			t.Errorf("%s: the first page is %s, %+v", path, names, first.Metadata)
		}
		addMaps(t, h, "bb"+path[len(path)-1:]) // not in the later pages
		second, names := pageIn(t, sendText(t, h, http.MethodGet, path+"?limit=2&continue="+first.Metadata.Continue, ""))
		if names != "cd" {
			t.Errorf("%s: the second page is %s", path, names)
		}
		if last, names := pageIn(t, sendText(t, h, http.MethodGet, path+"?continue="+second.Metadata.Continue, "")); names != "e" || last.Metadata.Continue != "" {
			t.Errorf("%s: the last page is %s", path, names)
		}
		sendText(t, h, http.MethodDelete, mapsPath+"/bb"+path[len(path)-1:], "")
	}
	// deletecollection uses the same pages.
	first, _ := pageIn(t, sendText(t, h, http.MethodGet, mapsPath+"?limit=2", ""))
	deleted, names := pageIn(t, sendText(t, h, http.MethodDelete, mapsPath+"?limit=1&continue="+first.Metadata.Continue, ""))
	if names != "c" || deleted.Metadata.RemainingItemCount != 2 || deleted.Metadata.Continue == "" {
		t.Errorf("deleted %s, %+v", names, deleted.Metadata)
	}
	if _, names := pageIn(t, sendText(t, h, http.MethodGet, mapsPath, "")); names != "abde" {
		t.Errorf("left are %s", names)
	}
}

// TestPagesOfCache checks that lists with resourceVersion=0 ignore the limit, except those of
// events, which kube-apiserver does not cache, and of resources without a watch cache.
func TestPagesOfCache(t *testing.T) {
	const events = "/api/v1/namespaces/ns/events"
	checkPagesOfCache(t, nil, map[string]string{mapsPath: "abc", events: "ab"})
	checkPagesOfCache(t, func(c *Config) {
		c.Uncached = func(gr schema.GroupResource) bool { return gr.Resource == "configmaps" }
	},
		map[string]string{mapsPath: "ab", events: "ab"})
}

// checkPagesOfCache checks the first page of lists of three objects by path, with limit 2 and resourceVersion 0.
func checkPagesOfCache(t *testing.T, configure func(*Config), firstPages map[string]string) {
	t.Helper()
	h := newHandler(t, configure)
	addMaps(t, h, "a", "b", "c")
	for _, name := range []string{"a", "b", "c"} {
		body := `{"metadata":{"name":"` + name + `"},"involvedObject":{"namespace":"ns"}}`
		if w := sendText(t, h, http.MethodPost, "/api/v1/namespaces/ns/events", body); w.Code != http.StatusCreated {
			t.Fatal(w.Body)
		}
	}
	for path, want := range firstPages {
		// The cache may be older than the last write until a consistent read.
		first, _ := pageIn(t, sendText(t, h, http.MethodGet, path+"?limit=1", ""))
		if _, names := pageIn(t, sendText(t, h, http.MethodGet, path+"?resourceVersion=0&limit=2", "")); names != want {
			t.Errorf("%s: the first page is %s, want %s", path, names, want)
		}
		next := path + "?resourceVersion=0&limit=1&continue=" + first.Metadata.Continue
		if _, names := pageIn(t, sendText(t, h, http.MethodGet, next, "")); names != want[1:] {
			t.Errorf("%s: the next page is %s, want %s", path, names, want[1:])
		}
	}
}

// TestBodyThatStalls checks that a request whose body does not arrive ends after the timeout.
func TestBodyThatStalls(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		h := newHandler(t, func(c *Config) { c.RequestTimeout = 200 * time.Millisecond })
		s := serveOver(t, h, http2)
		body, write := io.Pipe()
		go write.Write([]byte(`{"metadata":`)) // the rest never arrives
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+mapsPath, body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Group", request.GroupMasters)
		response, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if text := response.Header.Get("Content-Type"); response.StatusCode != http.StatusGatewayTimeout || text != "text/plain; charset=utf-8" {
			t.Errorf("HTTP/2 %t: %s, %s", http2, response.Status, text)
		}
		response.Body.Close()
		write.Close()
	}
}

// TestWarningsAreBounded checks the limits of warning headers.
func TestWarningsAreBounded(t *testing.T) {
	h := newHandler(t, nil)
	total := func(body string) (n, runes int) {
		w := sendText(t, h, http.MethodPost, mapsPath+"?dryRun=All", body)
		if w.Code != http.StatusCreated {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		for _, v := range w.Header().Values("Warning") {
			runes += len([]rune(v))
		}
		return len(w.Header().Values("Warning")), runes
	}
	var fields strings.Builder
	for i := range 90 {
		fmt.Fprintf(&fields, `,"%d%s":1`, i, strings.Repeat("ü", 1000))
	}
	if n, _ := total(`{"metadata":{"name":"x"},"a":1,"b":2}`); n != 2 {
		t.Errorf("two warnings are %d", n)
	}
	if n, runes := total(`{"metadata":{"name":"x"}` + fields.String() + `}`); n != 16 || runes > request.WarningsTotal+n*20 {
		t.Errorf("there are %d warnings of %d characters", n, runes)
	}
}

// TestStrictPatches checks field validation of patches.
func TestStrictPatches(t *testing.T) {
	h := newHandler(t, nil)
	addMaps(t, h, "a")
	for _, c := range []struct{ kind, patch, text string }{
		{"merge-patch", `{"data":{"d":"1","d":"2"}}`, `strict decoding error: duplicate field \"data.d\"`},
		{"strategic-merge-patch", `{"bogus":1,"data":{"s":"1"}}`, `Invalid value: \"map[bogus:1 data:map[s:1]]\": strict decoding error: unknown field \"bogus\"`},
		{"json-patch", `[{"op":"add","path":"/data/f","value":"1","value":"2"}]`, `strict decoding error: json patch duplicate field \"[0].value\"`},
	} {
		contentType := "application/" + c.kind + "+json"
		w := sendText(t, h, http.MethodPatch, mapsPath+"/a?fieldValidation=Strict", c.patch, "Content-Type", contentType)
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s: %d %s", c.kind, w.Code, w.Body)
		}
		w = sendText(t, h, http.MethodPatch, mapsPath+"/a?dryRun=All", c.patch, "Content-Type", contentType)
		if w.Code != 200 || len(w.Header().Values("Warning")) != 1 {
			t.Errorf("%s: %d %s", c.kind, w.Code, w.Header())
		}
		if w = sendText(t, h, http.MethodPatch, mapsPath+"/a?dryRun=All&fieldValidation=Ignore", c.patch, "Content-Type", contentType); w.Header().Get("Warning") != "" {
			t.Errorf("%s: warned of what is to be ignored", c.kind)
		}
	}
}

// TestUnauthenticatedConnections checks that an unauthenticated request ends its HTTP/2 connection, unless that is turned off.
func TestUnauthenticatedConnections(t *testing.T) {
	for keep, want := range map[bool]string{false: "close", true: ""} {
		h := newHandler(t, func(c *Config) { c.Gates[features.UnauthenticatedHTTP2DOSMitigation], c.Authenticator = !keep, nil })
		for proto, want := range map[int]string{1: "", 2: want} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, mapsPath, nil)
			r.ProtoMajor = proto
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if got := w.Header().Get("Connection"); w.Code != http.StatusUnauthorized || got != want {
				t.Errorf("kept %t, HTTP/%d: %d, Connection %q, want %q", keep, proto, w.Code, got, want)
			}
		}
	}
}
