package outbound

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestClient checks that a client speaks the configured protocol, requests no compression
// if the caller forwards responses, and returns redirects.
func TestClient(t *testing.T) {
	var encoding string
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		encoding = r.Header.Get("Accept-Encoding")
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	for _, test := range []struct {
		config   Config
		proto    string
		encoding string
	}{{Config{}, "HTTP/1.1", "gzip"}, {Config{HTTP2: true, Verbatim: true}, "HTTP/2.0", ""}} {
		test.config.TLS = &tls.Config{RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, MinVersion: tls.VersionTLS10}
		transport := Transport(test.config)
		defer transport.CloseIdleConnections()
		response, err := Client(transport).Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusFound || response.Proto != test.proto || encoding != test.encoding {
			t.Errorf("%+v: %s by %s, asked for %q", test.config, response.Status, response.Proto, encoding)
		}
		if v := transport.TLSClientConfig.MinVersion; v != tls.VersionTLS12 {
			t.Errorf("TLS version %x is accepted", v)
		}
	}
	if Transport(Config{}).Proxy != nil || Transport(Config{UseProxy: true}).Proxy == nil {
		t.Error("UseProxy does not determine the use of a proxy")
	}
}

// TestReadAll checks the limit of a body.
func TestReadAll(t *testing.T) {
	if data, err := ReadAll(strings.NewReader("abc"), 3); err != nil || string(data) != "abc" {
		t.Errorf("read %q, %v", data, err)
	}
	if _, err := ReadAll(strings.NewReader("abcd"), 3); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}
