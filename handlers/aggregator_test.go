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
		"/apis/g/v1/namespaces/ns/things/x/":              true,
		"/apis/g/v1/namespaces/ns/things/x/status/":       true,
		"/apis/g/v1/namespaces/ns/things/x/proxy/a//":     true,
		"/apis/g/v1/namespaces/ns/things/x/proxy/50%25":   true,
		"/apis/g/v1/namespaces/ns/things/a:b c,é":         true,
		"/apis/g/v1/namespaces/ns/things/x//":             false,
		"/apis/g/v1/namespaces/ns/things/x//status":       false,
		"/apis/g/v1/namespaces/ns/things/x///status":      false,
		"/apis/g/v1/namespaces/ns/things/x/status//":      false,
		"/apis/g/v1/namespaces/ns/things//x":              false,
		"/apis/g/v1/namespaces/ns/things//":               false,
		"/apis/g/v1/namespaces//things":                   false,
		"/apis/g/v1/things//":                             false,
		"/apis/g/v1/watch//things":                        false,
		"/apis/g/v1/watch/namespaces//things":             false,
		"/apis/g/v1//namespaces/ns/things/x":              false,
		// Paths are decoded here, so that a percent sign was escaped twice.
		"/apis/g/v1/namespaces/ns/things/x%2Fstatus":               false,
		"/apis/g/v1/namespaces/ns/things/%2e%2e":                   false,
		"/apis/g/v1/namespaces/ns/things/x\\status":                false,
		"/apis/g/v1/namespaces/ns/things/..;a=b":                   false,
		"/apis/g/v1/namespaces/ns/things/x\x00":                    false,
		"/apis/g/v1/namespaces/ns/things/x/proxy/..":               false,
		"/apis/g/v1/namespaces/ns/things/x/proxy/%2e%2e%2f..":      false,
		"/apis/g/v1/namespaces/ns/things/x/proxy/a\\..\\..\\..\\y": false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path = path
		info := request.Parse(r)
		if got := isForwardable(&info); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
