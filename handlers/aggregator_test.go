package handlers

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/miniapiserver/miniapiserver/request"
)

// TestIsForwardable checks which paths are forwarded to other servers: only those that mean to
// the other server what the authorizer was asked about.
func TestIsForwardable(t *testing.T) {
	for path, want := range map[string]bool{
		"/apis/g/v1":                        true,
		"/apis/g/v1/":                       true,
		"/api":                              true,
		"/api/v1":                           true,
		"/apis/g/v1/things":                 true,
		"/apis/g/v1/namespaces/ns/things/x": true,
		"/apis/g/v1/namespaces/ns/things/x/proxy/a//b/":   true,
		"/apis/g/v1/watch/things":                         true,
		"/apis/g/v1/watch":                                false,
		"/apis/g/v1/watch/":                               false,
		"/apis/g/v1/proxy":                                false,
		"/apis/g/v1//":                                    false,
		"/apis/g/v1///":                                   false,
		"/apis/g/v1//things":                              false,
		"/apis/g/v1/namespaces/ns//things":                false,
		"/apis/g/v1/namespaces/ns/things/../secrets":      false,
		"/apis/g/v1/namespaces/ns/things/..":              false,
		"/apis/g/v1/namespaces/../things":                 false,
		"/apis/g/v1/./things":                             false,
		"/apis/g/v1/namespaces/ns/things/x/proxy/../../y": false,
		"/api/v1/watch":                                   false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path = path
		info := request.Parse(r)
		if got := isForwardable(&info); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
