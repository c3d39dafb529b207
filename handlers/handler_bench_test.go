package handlers

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/audit"
	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// everybody authenticates every request as an administrator.
type everybody struct{}

func (everybody) Authenticate(*http.Request) (authn.Identity, bool, error) {
	return authn.Identity{User: &request.User{Name: "bench", Groups: []string{request.GroupMasters}}}, true, nil
}

var _ authn.Authenticator = everybody{}

// newBenched makes a Handler on a store of its own, with the namespace "bench".
func newBenched(tb testing.TB, changes ...func(*Config)) *Handler {
	tb.Helper()
	h := newHandler(tb, func(c *Config) {
		c.Authenticator, c.Authorizer, c.Gates = everybody{}, authz.Privileged(request.GroupMasters), nil
		for _, change := range changes {
			change(c)
		}
	})
	do(tb, h, http.MethodPost, "/api/v1/namespaces", `{"metadata":{"name":"bench"}}`)
	return h
}

const benchedMaps = "/api/v1/namespaces/bench/configmaps"

// do sends a request without a network and returns the response. Headers are names and
// values in turn.
func do(tb testing.TB, h *Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	tb.Helper()
	r := httptest.NewRequestWithContext(tb.Context(), method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code >= 300 {
		tb.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	return w
}

// fill creates n ConfigMaps with data of the given size.
func fill(tb testing.TB, h *Handler, n, size int) {
	tb.Helper()
	text := strings.Repeat("x", size)
	const workers = 16
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for i := worker; i < n; i += workers {
				do(tb, h, http.MethodPost, benchedMaps, configMapJSON(i, text))
			}
		})
	}
	wg.Wait()
}

func configMapJSON(i int, text string) string {
	return fmt.Sprintf(`{"metadata":{"name":"cm-%06d","labels":{"app":"bench","shard":"s%d"}},"data":{"key":"%s"}}`, i, i%100, text)
}

// sink is a response writer that discards the body.
type sink struct {
	header http.Header
	code   int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(code int)        { s.code = code }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
func (s *sink) Flush()                      {}

// repeater sends the same request many times without allocating.
type repeater struct {
	h    *Handler
	r    *http.Request
	body []byte
	w    sink
}

func newRepeater(tb testing.TB, h *Handler, path string, headers ...string) *repeater {
	r := httptest.NewRequestWithContext(tb.Context(), http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return &repeater{h: h, r: r, w: sink{header: http.Header{}}}
}

func (r *repeater) send(tb testing.TB) {
	clear(r.w.header)
	r.w.code = 0
	if r.body != nil {
		r.r.Body = io.NopCloser(bytes.NewReader(r.body))
	}
	r.h.ServeHTTP(&r.w, r.r)
	if r.w.code >= 300 {
		tb.Fatalf("%s: %d", r.r.URL, r.w.code)
	}
}

func (r *repeater) run(b *testing.B) {
	r.send(b) // fills the caches
	b.ReportAllocs()
	for b.Loop() {
		r.send(b)
	}
}

// BenchmarkGet measures a get through the whole chain.
func BenchmarkGet(b *testing.B) {
	h := newBenched(b)
	fill(b, h, 100, 1000)
	newRepeater(b, h, benchedMaps+"/cm-000007").run(b)
}

// BenchmarkGetInGoroutine measures a get in a new goroutine, in which net/http serves every
// HTTP/2 request. It shows what growStack saves.
func BenchmarkGetInGoroutine(b *testing.B) {
	h := newBenched(b)
	getInGoroutines(b, h)
}

// BenchmarkGetAudited is BenchmarkGetInGoroutine with the events of level Metadata, which are written
// to a file.
func BenchmarkGetAudited(b *testing.B) {
	a, err := audit.New(audit.Config{Policy: policyOf(b, "{level: Metadata}"),
		Log: &audit.LogConfig{Path: filepath.Join(b.TempDir(), "audit.log"), Format: audit.FormatJSON, MaxSize: 100, MaxBackups: 1, Batch: audit.BatchConfig{Mode: audit.ModeBlocking}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = a.Close(b.Context()) })
	getInGoroutines(b, newBenched(b, func(c *Config) { c.Auditor = a }))
}

func getInGoroutines(b *testing.B, h *Handler) {
	fill(b, h, 100, 1000)
	r := newRepeater(b, h, benchedMaps+"/cm-000007")
	r.send(b)
	done := make(chan struct{})
	b.ReportAllocs()
	for b.Loop() {
		go func() {
			r.send(b)
			done <- struct{}{}
		}()
		<-done
	}
}

// BenchmarkList10k measures lists of 10,000 objects in several forms.
func BenchmarkList10k(b *testing.B) {
	h := newBenched(b)
	fill(b, h, 10000, 1000)
	for _, bench := range []struct {
		name, query string
		headers     []string
	}{
		{name: "json"},
		{name: "page", query: "?limit=500"},
		{name: "protobuf", headers: []string{"Accept", representation.MediaProtobuf}},
		{name: "gzip", headers: []string{"Accept-Encoding", "gzip"}},
		{name: "label", query: "?labelSelector=shard%3Ds7"},
		{name: "table", headers: []string{"Accept", "application/json;as=Table;g=meta.k8s.io;v=v1"}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			newRepeater(b, h, benchedMaps+bench.query, bench.headers...).run(b)
		})
	}
}

// BenchmarkFirstTable10k measures the first table of new objects after a garbage collection,
// when only their stored and their sent encodings are left in memory.
func BenchmarkFirstTable10k(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		h := newBenched(b)
		fill(b, h, 10000, 1000)
		runtime.GC()
		r := newRepeater(b, h, benchedMaps, "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
		b.StartTimer()
		r.send(b)
	}
}

// BenchmarkCreate measures creates through the whole chain.
func BenchmarkCreate(b *testing.B) {
	h := newBenched(b)
	text := strings.Repeat("x", 1000)
	r := newRepeater(b, h, benchedMaps)
	r.r.Method = http.MethodPost
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		r.body = []byte(configMapJSON(n, text))
		r.send(b)
	}
}

// BenchmarkWatchEvent measures what an event whose object is already encoded costs one watch.
func BenchmarkWatchEvent(b *testing.B) {
	h := newBenched(b)
	fill(b, h, 1, 1000)
	configMaps, version, ok := h.Catalogue.Lookup(schema.GroupVersion{Version: "v1"}, "configmaps")
	if !ok {
		b.Fatal("ConfigMaps are not served")
	}
	target := registry.Target{Resource: configMaps, Version: version, Namespace: "bench", Name: "cm-000000"}
	item, err := h.Registry.Get(b.Context(), target, storage.Read{})
	if err != nil {
		b.Fatal(err)
	}
	for name, accept := range map[string]string{"json": representation.MediaJSON, "protobuf": representation.MediaProtobuf} {
		b.Run(name, func(b *testing.B) {
			r := parsed(httptest.NewRequestWithContext(b.Context(), http.MethodGet, benchedMaps+"?watch=1", nil))
			r.Header.Set("Accept", accept)
			v, err := h.codecs.Codec(configMaps, version).View(r, configMaps, representation.OfferWatch)
			if err != nil {
				b.Fatal(err)
			}
			s := representation.NewEventStream(representation.NewHTTPFrames(&sink{header: http.Header{}}, time.Minute, false), &v, target, uncounted{})
			events := []storage.Event{{Type: storage.Modified, Item: item, Revision: item.Revision()}}
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Send(b.Context(), events); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// uncounted is a representation.EventCounter that counts nothing.
type uncounted struct{}

// Sent implements representation.EventCounter.
func (uncounted) Sent(int) {}
