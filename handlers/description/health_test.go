package description

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
)

// TestHealth checks the responses of the health paths.
func TestHealth(t *testing.T) {
	var broken error
	shuttingDown := false
	h := newHandler(t, func(c *Config) {
		c.ShuttingDown = func() bool { return shuttingDown }
		c.Checks = []Check{
			{Name: "etcd", Health: true, Live: false, Ready: true, Run: func(context.Context) error { return broken }},
			{Name: "log", Health: true, Live: true, Ready: true},
		}
	})
	check := func(path string, code int, body string) {
		t.Helper()
		w := send(t, h, http.MethodGet, path)
		if w.Code != code || w.Body.String() != body || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: %d %q %s, want %d %q", path, w.Code, w.Body, w.Header(), code, body)
		}
		// The response of a single check that passes has no such header.
		single := strings.Count(path, "/") > 1 && code == http.StatusOK
		if nosniff := w.Header().Get("X-Content-Type-Options") == "nosniff"; nosniff == single {
			t.Errorf("%s: X-Content-Type-Options %q", path, w.Header().Get("X-Content-Type-Options"))
		}
	}
	check("/healthz", 200, "ok")
	check("/readyz?verbose", 200, "[+]ping ok\n[+]etcd ok\n[+]log ok\n[+]shutdown ok\nreadyz check passed\n")
	check("/livez?verbose=1", 200, "[+]ping ok\n[+]log ok\nlivez check passed\n")
	check("/livez?verbose&exclude=log&exclude=log", 200, "[+]ping ok\n[+]log excluded: ok\nlivez check passed\n")
	check("/livez?verbose&exclude=b&exclude=a", 200, "[+]ping ok\n[+]log ok\nwarn: some health checks cannot be excluded: no matches for \"a\",\"b\"\nlivez check passed\n")
	check("/healthz/etcd", 200, "ok")
	check("/healthz/other", 404, "404 page not found\n")
	check("/livez/etcd", 404, "404 page not found\n")
	check("/healthz/shutdown", 404, "404 page not found\n")
	check("/readyz/", 404, "404 page not found\n")
	check("/readyz/log/", 404, "404 page not found\n")
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		for _, path := range []string{"/readyz", "/readyz/etcd"} {
			if w := send(t, h, method, path); w.Code != 200 || w.Body.String() != "ok" {
				t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
		}
	}
	broken = errors.New("secret of the house")
	check("/healthz/etcd", 500, "internal server error: secret of the house\n")
	check("/livez", 200, "ok")
	check("/readyz?exclude=etcd", 200, "ok")
	check("/healthz", 500, "[+]ping ok\n[-]etcd failed: reason withheld\n[+]log ok\nhealthz check failed\n")
	broken = nil
	shuttingDown = true
	check("/healthz", 200, "ok")
	check("/readyz", 500, "[+]ping ok\n[+]etcd ok\n[+]log ok\n[-]shutdown failed: reason withheld\nreadyz check failed\n")
}

// TestHealthGroups checks that excluding a check excludes those of its group, and that nothing is of a
// group without a name.
func TestHealthGroups(t *testing.T) {
	h := newHandler(t, func(c *Config) {
		c.Checks = []Check{
			{Name: "etcd", Health: true},
			{Name: "etcd-override-0", Group: "etcd", Health: true},
		}
	})
	for query, want := range map[string]string{
		"exclude=etcd":            "[+]etcd excluded: ok\n[+]etcd-override-0 excluded with etcd: ok\n",
		"exclude=etcd-override-0": "[+]etcd ok\n[+]etcd-override-0 excluded: ok\n",
		"exclude=":                "[+]etcd ok\n[+]etcd-override-0 ok\n",
	} {
		if w := send(t, h, http.MethodGet, "/healthz?verbose&"+query); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %s, want %s", query, w.Body, want)
		}
	}
}

// TestHealthIndicators checks that the results of the three paths are counted, but neither
// excluded checks nor requests for single checks.
func TestHealthIndicators(t *testing.T) {
	var broken error
	h := newHandler(t, func(c *Config) {
		c.Checks = []Check{{Name: "etcd", Health: true, Ready: true, Run: func(context.Context) error { return broken }}}
	})
	for _, path := range []string{"/readyz", "/readyz", "/readyz?exclude=etcd", "/readyz/etcd", "/livez"} {
		send(t, h, http.MethodGet, path)
	}
	broken = errors.New("broken")
	send(t, h, http.MethodGet, "/readyz")
	w := send(t, h, http.MethodGet, "/metrics/slis")
	want := `# HELP kubernetes_healthcheck [STABLE] Result of the last health check of a type and name: 1 if it passed.
# TYPE kubernetes_healthcheck gauge
kubernetes_healthcheck{name="etcd",type="readyz"} 0
kubernetes_healthcheck{name="ping",type="livez"} 1
kubernetes_healthcheck{name="ping",type="readyz"} 1
kubernetes_healthcheck{name="shutdown",type="readyz"} 1
# HELP kubernetes_healthchecks_total [STABLE] Number of health checks by type, name and result.
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
	send(t, h, http.MethodDelete, "/metrics/slis")
	if w := send(t, h, http.MethodGet, "/metrics/slis"); w.Body.Len() != 0 {
		t.Errorf("after a reset: %s", w.Body)
	}
}

// TestHealthFailuresLogged checks that failures during the start are logged for debugging, and later
// ones as a warning when the failed checks change, with at most eight of them.
func TestHealthFailuresLogged(t *testing.T) {
	var log strings.Builder
	now := time.Unix(1e9, 0)
	broken := map[string]bool{}
	h := newHandler(t, func(c *Config) {
		c.Now = func() time.Time { return now }
		c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		for i := range 20 {
			name := fmt.Sprintf("check%02d", i)
			c.Checks = append(c.Checks, Check{Name: name, Ready: true, Live: i == 0, Run: func(context.Context) error {
				if broken[name] {
					return errors.New("cause of " + name)
				}
				return nil
			}})
		}
	})
	probe := func(path string, want ...string) {
		t.Helper()
		log.Reset()
		send(t, h, http.MethodGet, path)
		lines := strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n")
		if len(lines) != 1 || len(lines[0]) > 500 {
			t.Fatalf("%s: logged %q", path, lines)
		}
		for _, text := range want {
			if !strings.Contains(lines[0], text) {
				t.Errorf("%s: %q is not in %q", path, text, lines[0])
			}
		}
		if len(want) == 0 && lines[0] != "" {
			t.Errorf("%s: logged %q", path, lines[0])
		}
	}
	for i := range 20 {
		broken[fmt.Sprintf("check%02d", i)] = true
	}
	probe("/readyz", "level=DEBUG", "path=/readyz", "check00: cause of check00; ", "check07: cause of check07; 12 more")
	now = now.Add(startupQuiet + time.Second)
	probe("/readyz", "level=WARN", "check00: cause of check00; ")
	probe("/readyz", "level=DEBUG")
	clear(broken)
	probe("/readyz")
	probe("/livez")
	broken["check01"] = true
	probe("/readyz", "level=WARN", `checks="check01: cause of check01"`)
	probe("/livez")
	probe("/readyz", "level=DEBUG")
	probe("/readyz/check01", "level=DEBUG", "cause of check01")
	clear(broken)
	probe("/readyz")
	broken["check01"] = true
	probe("/readyz", "level=WARN")
}

// TestVersion checks the methods and media types of /version.
func TestVersion(t *testing.T) {
	h := newHandler(t, func(c *Config) { c.Version.GitVersion = "v1.36.0" })
	if w := send(t, h, http.MethodGet, "/version"); w.Code != 200 || !strings.Contains(w.Body.String(), `"gitVersion": "v1.36.0"`) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	for path, code := range map[string]int{"HEAD /version": 405, "POST /version": 405, "POST /version/": 405, "POST /version/x": 404, "POST /metrics": 200, "OPTIONS /metrics": 200, "FOO /metrics/slis": 200} {
		method, path, _ := strings.Cut(path, " ")
		if w := send(t, h, method, path); w.Code != code {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
	if w := send(t, h, http.MethodGet, "/version", "Accept", representation.MediaYAML); w.Code != http.StatusNotAcceptable {
		t.Errorf("in YAML: %d", w.Code)
	}
}

// TestLivezGracePeriod checks that a failing boot check fails /readyz and /healthz at once, and
// /livez after the grace period.
func TestLivezGracePeriod(t *testing.T) {
	now := time.Now()
	failing := func(context.Context) error { return errors.New("not finished") }
	h := newHandler(t, func(c *Config) {
		c.LivezGracePeriod, c.Now = time.Minute, func() time.Time { return now }
		c.Checks = []Check{
			{Name: "etcd", Health: true, Live: true, Ready: true},
			{Name: "poststarthook/a", Health: true, Live: true, Ready: true, Boot: true, Run: failing},
		}
	})
	want := func(path string, code int) {
		t.Helper()
		if w := send(t, h, http.MethodGet, path); w.Code != code {
			t.Errorf("%s: %d %s, want %d", path, w.Code, w.Body, code)
		}
	}
	want("/livez", 200)
	want("/livez/poststarthook/a", 200)
	want("/readyz", 500)
	want("/healthz", 500)
	now = now.Add(time.Minute + time.Second)
	want("/livez", 500)
	want("/livez/poststarthook/a", 500)
	want("/livez?exclude=poststarthook/a", 200)
}

// TestIndex checks that the index lists all served paths in order, for every method.
func TestIndex(t *testing.T) {
	h := newHandler(t, func(c *Config) {
		c.Checks = []Check{{Name: "poststarthook/rbac/bootstrap-roles", Ready: true}}
	})
	var index metav1.RootPaths
	w := send(t, h, http.MethodGet, "/", "Accept", representation.MediaProtobuf)
	if err := json.Unmarshal(w.Body.Bytes(), &index); err != nil || w.Code != http.StatusOK || w.Header().Get("Content-Type") != representation.MediaJSON {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	if !slices.IsSorted(index.Paths) || len(slices.Compact(slices.Clone(index.Paths))) != len(index.Paths) {
		t.Errorf("not sorted, or duplicate: %q", index.Paths)
	}
	for _, path := range []string{
		"/api", "/api/v1", "/apis", "/apis/", "/apis/apps", "/apis/apps/v1", "/healthz", "/healthz/ping", "/livez/ping", "/readyz/shutdown",
		"/readyz/poststarthook/rbac/bootstrap-roles", "/metrics", "/metrics/slis", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version",
	} {
		if !slices.Contains(index.Paths, path) {
			t.Errorf("%s is not listed", path)
		}
	}
	for _, path := range index.Paths {
		if w := send(t, h, http.MethodGet, path); w.Code == http.StatusNotFound && path != "/openapi/v3/" {
			t.Errorf("%s is listed and not served", path)
		}
		if strings.HasPrefix(path, "/debug") || path == "/livez/poststarthook/rbac/bootstrap-roles" {
			t.Errorf("%s is listed", path)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodOptions} {
		if w := send(t, h, method, "/index.html"); w.Code != http.StatusOK {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
}
