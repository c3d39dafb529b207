package representation

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkDecode measures the decoding of bodies: small and large ones, in the fast way, and one with
// a duplicate field, which takes the general way.
func BenchmarkDecode(b *testing.B) {
	const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default","uid":"0c5f1d3e-4b1a-4a51-8e02-d2a6a8e5f7b1"},"spec":{"containers":[` +
		`{"name":"c","image":"registry.example.com/app:1.2.3","resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"cpu":1.5}},` +
		`"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],"ports":[{"containerPort":8080}]}]}}`
	for _, c := range []struct{ name, resource, body string }{
		{"config map", "configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"n":"1"}}`},
		{"large config map", "configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"n":"` + strings.Repeat("0123456789abcdef", 4096) + `"}}`},
		{"pod", "pods", pod},
		{"duplicate field", "configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"n":"1","n":"2"}}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			codec, data := newCodec(b, c.resource), []byte(c.body)
			r := withScope(httptest.NewRequest(http.MethodPost, "/", nil))
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := codec.Decode(r, data, "Warn"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
