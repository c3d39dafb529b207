package handlers

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
)

func TestHealth(t *testing.T) {
	var broken error
	h := newHandler(t, func(c *Config) {
		c.Checks = []Check{
			{Name: "etcd", Health: true, Live: false, Ready: true, Run: func(context.Context) error { return broken }},
			{Name: "log", Health: true, Live: true, Ready: true},
		}
	})
	check := func(path string, code int, body string) {
		t.Helper()
		w := sendText(t, h, http.MethodGet, path, "")
		if w.Code != code || w.Body.String() != body || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: %d %q %s, want %d %q", path, w.Code, w.Body, w.Header(), code, body)
		}
	}
	check("/healthz", 200, "ok")
	check("/readyz?verbose", 200, "[+]ping ok\n[+]etcd ok\n[+]log ok\n[+]shutdown ok\nreadyz check passed\n")
	check("/livez?verbose=1", 200, "[+]ping ok\n[+]log ok\nlivez check passed\n")
	check("/livez?verbose&exclude=log&exclude=log", 200, "[+]ping ok\n[+]log excluded: ok\nlivez check passed\n")
	check("/livez?verbose&exclude=b&exclude=a", 200, "[+]ping ok\n[+]log ok\nwarn: some health checks cannot be excluded: no matches for \"a\",\"b\"\nlivez check passed\n")
	check("/healthz/etcd", 200, "ok")
	check("/healthz/other", 404, "404 page not found\n")
	broken = errors.New("secret of the house")
	check("/healthz/etcd", 500, "internal server error: secret of the house\n")
	check("/livez", 200, "ok")
	check("/readyz?exclude=etcd", 200, "ok")
	check("/healthz", 500, "[+]ping ok\n[-]etcd failed: reason withheld\n[+]log ok\nhealthz check failed\n")
	broken = nil
	h.BeginShutdown()
	check("/healthz", 200, "ok")
	check("/readyz", 500, "[+]ping ok\n[+]etcd ok\n[+]log ok\n[-]shutdown failed: reason withheld\nreadyz check failed\n")
	if w := sendText(t, h, http.MethodGet, mapsPath+"?watch=1", ""); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "shutting down") {
		t.Errorf("a watch while shutting down: %d %s", w.Code, w.Body)
	}
}

// What the checks of the three paths found is counted; those that were left out,
// or asked for one by one, are not.
func TestHealthIndicators(t *testing.T) {
	var broken error
	h := newHandler(t, func(c *Config) {
		c.Checks = []Check{{Name: "etcd", Health: true, Ready: true, Run: func(context.Context) error { return broken }}}
	})
	for _, path := range []string{"/readyz", "/readyz", "/readyz?exclude=etcd", "/readyz/etcd", "/livez"} {
		sendText(t, h, http.MethodGet, path, "")
	}
	broken = errors.New("broken")
	sendText(t, h, http.MethodGet, "/readyz", "")
	w := sendText(t, h, http.MethodGet, "/metrics/slis", "")
	want := `# HELP kubernetes_healthcheck This metric records the result of a single healthcheck.
# TYPE kubernetes_healthcheck gauge
kubernetes_healthcheck{name="etcd",type="readyz"} 0
kubernetes_healthcheck{name="ping",type="livez"} 1
kubernetes_healthcheck{name="ping",type="readyz"} 1
kubernetes_healthcheck{name="shutdown",type="readyz"} 1
# HELP kubernetes_healthchecks_total This metric records the results of all healthcheck.
# TYPE kubernetes_healthchecks_total counter
kubernetes_healthchecks_total{name="etcd",status="error",type="readyz"} 1
kubernetes_healthchecks_total{name="etcd",status="success",type="readyz"} 2
kubernetes_healthchecks_total{name="ping",status="success",type="livez"} 1
kubernetes_healthchecks_total{name="ping",status="success",type="readyz"} 4
kubernetes_healthchecks_total{name="shutdown",status="success",type="readyz"} 4
`
	if w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("%d %s\nwant %s", w.Code, w.Body, want)
	}
	sendText(t, h, http.MethodDelete, "/metrics/slis", "")
	if w := sendText(t, h, http.MethodGet, "/metrics/slis", ""); w.Body.Len() != 0 {
		t.Errorf("after a reset: %s", w.Body)
	}
}

func TestVersion(t *testing.T) {
	h := newHandler(t, func(c *Config) { c.Version.GitVersion = "v1.36.0" })
	if w := sendText(t, h, http.MethodGet, "/version", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"gitVersion": "v1.36.0"`) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	for path, code := range map[string]int{"HEAD /version": 405, "POST /version": 405} {
		method, path, _ := strings.Cut(path, " ")
		if w := sendText(t, h, method, path, ""); w.Code != code {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
	if w := sendText(t, h, http.MethodGet, "/version", "", "Accept", mediaYAML); w.Code != http.StatusNotAcceptable {
		t.Errorf("in YAML: %d", w.Code)
	}
}
