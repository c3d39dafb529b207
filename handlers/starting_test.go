package handlers

import (
	"net/http"
	"strings"
	"testing"
)

// TestStarting checks that health and metrics are served before the server is started, and
// that other requests get an error that clients retry.
func TestStarting(t *testing.T) {
	h := newHandler(t, func(c *Config) { c.Starting = true })
	for _, c := range []struct {
		path        string
		code        int
		retry, text string
	}{
		{"/livez", 200, "", "ok"},
		{"/metrics", 200, "", ""},
		{"/version", 200, "", "gitVersion"},
		{mapsPath, 429, "1", "storage is (re)initializing"},
		{mapsPath + "/a?watch=1", 429, "1", "TooManyRequests"},
		{"/apis", 503, "5", "the request has been made before all known HTTP paths have been installed, please try again"},
		{"/livezz", 503, "5", "ServiceUnavailable"},
	} {
		w := sendText(t, h, http.MethodGet, c.path, "")
		if w.Code != c.code || w.Header().Get("Retry-After") != c.retry || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s: %d, Retry-After %q: %s", c.path, w.Code, w.Header().Get("Retry-After"), w.Body)
		}
	}
	h.Started()
	for _, path := range []string{mapsPath, "/apis"} {
		if w := sendText(t, h, http.MethodGet, path, ""); w.Code != http.StatusOK {
			t.Errorf("%s when started: %d %s", path, w.Code, w.Body)
		}
	}
}
