package description

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestProfiling checks that profiles are served unless they are turned off.
func TestProfiling(t *testing.T) {
	h := newHandler(t, nil)
	for path, want := range map[string]string{
		"/debug/pprof/":                  "goroutine",
		"/debug/pprof/heap?debug=1":      "heap profile",
		"/debug/pprof/goroutine?debug=1": "goroutine profile",
	} {
		if got := send(t, h, http.MethodGet, path); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: %d %.200s", path, got.Code, got.Body)
		}
	}
	// kube-apiserver has no path that shows the command line.
	for _, path := range []string{"/debug/pprof/cmdline", "/debug/pprof/cmdline/", "/debug/pprof/./cmdline", "/debug/pprof/%63mdline"} {
		if got := send(t, h, http.MethodGet, path); got.Code != http.StatusNotFound || strings.Contains(got.Body.String(), "description.test") {
			t.Errorf("%s: %d %.200s", path, got.Code, got.Body)
		}
	}
	if got := send(t, h, http.MethodGet, "/debug/pprof"); got.Code != http.StatusFound {
		t.Errorf("without the slash: %d", got.Code)
	}
	off := newHandler(t, func(c *Config) { c.NoProfiling = true })
	if got := send(t, off, http.MethodGet, "/debug/pprof/"); got.Code != http.StatusNotFound {
		t.Errorf("turned off: %d", got.Code)
	}
}

// TestVerbosityFlag checks the responses of kube-apiserver at /debug/flags/v, and that nothing else
// changes the verbosity.
func TestVerbosityFlag(t *testing.T) {
	verbosity := 2
	h := newHandler(t, func(c *Config) { c.SetVerbosity = func(v int) { verbosity = v } })
	for _, c := range []struct {
		method, body string
		code         int
		want         string
		verbosity    int
	}{
		{http.MethodGet, "", http.StatusNotAcceptable, "unsupported http method", 2},
		{http.MethodPut, "4", http.StatusOK, "successfully set klog.logging.verbosity to 4", 4},
		{http.MethodPut, "loud", http.StatusBadRequest, `strconv.ParseUint: parsing "loud": invalid syntax`, 4},
		{http.MethodPut, "-1", http.StatusBadRequest, `strconv.ParseUint: parsing "-1": invalid syntax`, 4},
		{http.MethodPost, "9", http.StatusNotAcceptable, "unsupported http method", 4},
		{http.MethodPut, strings.Repeat("0", 65), http.StatusBadRequest, "error reading request body", 4},
		{http.MethodPut, "0", http.StatusOK, "successfully set klog.logging.verbosity to 0", 0},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, "/debug/flags/v", strings.NewReader(c.body)))
		if w.Code != c.code || w.Body.String() != c.want+"\n" || verbosity != c.verbosity || w.Header().Get("Content-Type") != "text/plain" {
			t.Errorf("%s %.20s: %d %s, verbosity %d", c.method, c.body, w.Code, w.Body, verbosity)
		}
	}
	for _, path := range []string{"/debug/flags", "/debug/flags/", "/debug/flags/other"} {
		if got := send(t, h, http.MethodGet, path); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "<tr>v<br>\n") {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	for name, change := range map[string]func(*Config){
		"turned off": func(c *Config) { c.SetVerbosity, c.NoProfiling = func(int) {}, true }, "no verbosity": nil,
	} {
		if got := send(t, newHandler(t, change), http.MethodGet, "/debug/flags/v"); got.Code != http.StatusNotFound {
			t.Errorf("%s: %d", name, got.Code)
		}
	}
}
