package handlers

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestProfiling(t *testing.T) {
	h := newBenched(t)
	for path, want := range map[string]string{
		"/debug/pprof/":                  "goroutine",
		"/debug/pprof/heap?debug=1":      "heap profile",
		"/debug/pprof/cmdline":           "handlers.test",
		"/debug/pprof/goroutine?debug=1": "goroutine profile",
	} {
		if got := do(t, h, http.MethodGet, path, ""); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: %d %.200s", path, got.Code, got.Body)
		}
	}
	code := func(h *Handler, path string) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return w.Code
	}
	if got := code(h, "/debug/pprof"); got != http.StatusMovedPermanently {
		t.Errorf("without the slash: %d", got)
	}
	off, err := New(Config{Catalogue: h.Catalogue, Registry: h.Registry, Authenticator: h.Authenticator, Authorizer: h.Authorizer, NoProfiling: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := code(off, "/debug/pprof/"); got != http.StatusNotFound {
		t.Errorf("turned off: %d", got)
	}
}
