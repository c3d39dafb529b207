package transport

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestLocalOnly checks which values of Host and Origin the insecure port accepts.
func TestLocalOnly(t *testing.T) {
	h := LocalOnly(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	cases := []struct {
		host    string
		origins []string
		want    int
	}{
		{"localhost", nil, 204},
		{"LOCALHOST:8080", nil, 204},
		{"127.0.0.1", nil, 204},
		{"127.0.0.1:1", nil, 204},
		{"[::1]", nil, 204},
		{"[::1]:8080", nil, 204},
		{"localhost:8080", []string{"http://localhost:8080"}, 204},
		{"localhost:8080", []string{"https://127.0.0.1"}, 204},
		{"", nil, 403},
		{"evil.example", nil, 403},
		{"evil.example:8080", nil, 403},
		{"localhost.evil.example", nil, 403},
		{"127.0.0.1.evil.example", nil, 403},
		{"127.0.0.2", nil, 403},
		{"0.0.0.0:8080", nil, 403},
		{"[::]", nil, 403},
		{"10.0.0.1", nil, 403},
		{"localhost", []string{"http://evil.example"}, 403},
		{"localhost", []string{"http://localhost.evil.example"}, 403},
		{"localhost", []string{"null"}, 403},
		{"localhost", []string{""}, 403},
		{"localhost", []string{"file://localhost"}, 403},
		{"localhost", []string{"chrome-extension://localhost"}, 403},
		{"localhost", []string{"http://localhost@evil.example"}, 403},
		{"localhost", []string{"http://localhost", "http://evil.example"}, 403},
	}
	for _, c := range cases {
		r := httptest.NewRequest("GET", "/api", nil)
		r.Host = c.host
		r.Header["Origin"] = c.origins
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("host %q, origin %q: got %d, want %d", c.host, c.origins, w.Code, c.want)
		}
		if w.Code != 403 {
			continue
		}
		var status metav1.Status
		if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil || status.Code != 403 || status.Reason != "Forbidden" {
			t.Errorf("host %q, origin %q: body %s", c.host, c.origins, w.Body)
		}
	}
}

// TestRefusalIsShort checks that an error message truncates a long header.
func TestRefusalIsShort(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	r.Host = strings.Repeat("x", 10000)
	w := httptest.NewRecorder()
	LocalOnly(nil).ServeHTTP(w, r)
	if w.Code != 403 || w.Body.Len() > 500 {
		t.Errorf("got %d, %d bytes", w.Code, w.Body.Len())
	}
}
