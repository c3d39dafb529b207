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
