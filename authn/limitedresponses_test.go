package authn

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestLimitedResponses verifies that an endless response of an issuer is not read to its end.
func TestLimitedResponses(t *testing.T) {
	for _, tt := range []struct {
		bytes int
		good  bool
	}{{0, true}, {maxIssuerDocument, true}, {maxIssuerDocument + 1, false}, {20 * maxIssuerDocument, false}} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, tt.bytes)) }))
		client := &http.Client{Transport: limitedResponses{s.Client().Transport}}
		resp, err := client.Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(resp.Body)
		if (err == nil) != tt.good || len(data) > maxIssuerDocument || tt.good && len(data) != tt.bytes {
			t.Errorf("%d bytes: read %d, %v", tt.bytes, len(data), err)
		}
		resp.Body.Close()
		s.Close()
	}
}
