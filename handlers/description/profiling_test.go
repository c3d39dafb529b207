package description

import (
	"net/http"
	"strings"
	"testing"
)

// TestProfiling checks that profiles are served unless they are turned off.
func TestProfiling(t *testing.T) {
	h := newHandler(t, nil)
	for path, want := range map[string]string{
		"/debug/pprof/":                  "goroutine",
		"/debug/pprof/heap?debug=1":      "heap profile",
		"/debug/pprof/cmdline":           "description.test",
		"/debug/pprof/goroutine?debug=1": "goroutine profile",
	} {
		if got := send(t, h, http.MethodGet, path); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: %d %.200s", path, got.Code, got.Body)
		}
	}
	if got := send(t, h, http.MethodGet, "/debug/pprof"); got.Code != http.StatusMovedPermanently {
		t.Errorf("without the slash: %d", got.Code)
	}
	off := newHandler(t, func(c *Config) { c.NoProfiling = true })
	if got := send(t, off, http.MethodGet, "/debug/pprof/"); got.Code != http.StatusNotFound {
		t.Errorf("turned off: %d", got.Code)
	}
}
