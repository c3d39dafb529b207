package description

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom"
	"github.com/miniapiserver/miniapiserver/kinds"
)

// customKind returns custom kind n with a number of fields, compiled from its definition.
func customKind(tb testing.TB, group string, n, fields int) *api.Resource {
	tb.Helper()
	var properties strings.Builder
	for i := range fields {
		if i > 0 {
			properties.WriteByte(',')
		}
		fmt.Fprintf(&properties, `"field%d":{"type":"string","maxLength":%d,"description":"Field %d of kind %d says what the thing is meant to do when somebody looks at it, and what it does when it is left out."}`, i, i+n, i, n)
	}
	stored := fmt.Appendf(nil, `{"metadata":{"name":"kinds%[1]d.%[2]s"},"spec":{"group":%[2]q,"scope":"Namespaced",
		"names":{"plural":"kinds%[1]d","singular":"kind%[1]d","kind":"Kind%[1]d","listKind":"Kind%[1]dList"},
		"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object",
		"properties":{"spec":{"type":"object","properties":{%[3]s}},"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]},
		"status":{"acceptedNames":{"plural":"kinds%[1]d","singular":"kind%[1]d","kind":"Kind%[1]d","listKind":"Kind%[1]dList"}}}`, n, group, properties.String())
	read := func(text []byte) (*custom.Definition, error) {
		d := &custom.Definition{}
		return d, json.Unmarshal(text, d)
	}
	d, err := read(custom.Outline(stored))
	if err != nil {
		tb.Fatal(err)
	}
	k, err := custom.Compile(d, func() (*custom.Definition, error) { return read(stored) }, custom.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return k.Resource
}

// oneMore measures requests for documents after a kind is added to many, ten in each group.
func oneMore(b *testing.B, urls ...string) {
	for _, others := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(others), func(b *testing.B) {
			h := newHandlerOf(b, kinds.All()...)
			for i := range others {
				if err := h.Catalogue.Change(nil, []*api.Resource{customKind(b, fmt.Sprintf("g%d.example.com", i/10), i, 60)}); err != nil {
					b.Fatal(err)
				}
			}
			one := []*api.Resource{customKind(b, "g0.example.com", others, 60)}
			request := func() (bytes int) {
				for _, url := range urls {
					r := httptest.NewRequest(http.MethodGet, url, nil)
					r.Header.Set("Accept-Encoding", "gzip")
					w := &counting{header: http.Header{}}
					h.ServeHTTP(w, r)
					if w.code != http.StatusOK {
						b.Fatal(url, w.code)
					}
					bytes += w.bytes
				}
				return bytes
			}
			b.ReportAllocs()
			size := request()
			for b.Loop() {
				if err := h.Catalogue.Change(nil, one); err != nil {
					b.Fatal(err)
				}
				request()
				b.StopTimer()
				if err := h.Catalogue.Change(one, nil); err != nil {
					b.Fatal(err)
				}
				request()
				b.StartTimer()
			}
			b.ReportMetric(float64(size), "B/response")
		})
	}
}

// counting is a response writer that counts bytes.
type counting struct {
	header      http.Header
	code, bytes int
}

func (c *counting) Header() http.Header  { return c.header }
func (c *counting) WriteHeader(code int) { c.code = code }

func (c *counting) Write(p []byte) (int, error) {
	if c.code == 0 {
		c.code = http.StatusOK
	}
	c.bytes += len(p)
	return len(p), nil
}

// BenchmarkOpenAPIv2OfOneMore measures the document of version 2 after a kind is added.
func BenchmarkOpenAPIv2OfOneMore(b *testing.B) { oneMore(b, "/openapi/v2") }

// BenchmarkOpenAPIv3OfOneMore measures the index of version 3 and the changed document after a
// kind is added.
func BenchmarkOpenAPIv3OfOneMore(b *testing.B) {
	oneMore(b, "/openapi/v3", "/openapi/v3/apis/g0.example.com/v1")
}
