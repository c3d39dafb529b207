package server

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMetricFlags checks --disabled-metrics, --allow-metric-labels, its manifest, and
// --show-hidden-metrics-for-version.
func TestMetricFlags(t *testing.T) {
	manifest := filepath.Join(t.TempDir(), "labels.yaml")
	if err := os.WriteFile(manifest, []byte("apiserver_request_total,verb: GET\napiserver_request_total,code: \"500\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := run(t, Options{
		DisabledMetrics:             []string{"apiserver_request_duration_seconds"},
		AllowMetricLabels:           map[string]string{"apiserver_request_total,code": "404,410"},
		AllowMetricLabelsManifest:   manifest,
		ShowHiddenMetricsForVersion: "1.36",
	})
	c := raw(t, s)
	for _, path := range []string{"/api/v1/namespaces/default", "/api/v1/namespaces/none", "/api/v1/namespaces"} {
		get(t, c, s.URL+path, s.Token)
	}
	_, body := get(t, c, s.URL+"/metrics", s.Token)
	for _, want := range []string{
		`apiserver_request_total{code="404",component="apiserver",dry_run="",group="",resource="namespaces",scope="resource",subresource="",verb="GET",version="v1"} 1`,
		`apiserver_request_total{code="unexpected",component="apiserver",dry_run="",group="",resource="namespaces",scope="resource",subresource="",verb="GET",version="v1"} `,
		`verb="unexpected"`,
		"\ndisabled_metrics_total 1\n",
		"\nhidden_metrics_total 0\n",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("there is no %s", want)
		}
	}
	if strings.Contains(body, "apiserver_request_duration_seconds") {
		t.Error("there is a disabled metric")
	}
	for line := range strings.Lines(body) {
		for _, no := range []string{`code="200"`, `verb="LIST"`, `code="500"`} {
			// Other metrics may have these labels.
			if strings.HasPrefix(line, "apiserver_request_total{") && strings.Contains(line, no) {
				t.Errorf("there is %s in %s", no, line)
			}
		}
	}
}

// TestMetricLabelsManifestFaults checks that the server refuses a manifest that it cannot use.
func TestMetricLabelsManifestFaults(t *testing.T) {
	for content, want := range map[string]string{
		"a":     "--allow-metric-labels-manifest: ",
		"a: b":  `"a" is not of the form metric,label`,
		"a,b: ": "",
	} {
		file := filepath.Join(t.TempDir(), "labels.yaml")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		o := Options{AllowMetricLabelsManifest: file}
		switch err := o.Validate(); {
		case want == "" && err != nil:
			t.Errorf("%q: %v", content, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--allow-metric-labels-manifest")):
			t.Errorf("%q: got %v, want %q", content, err, want)
		}
	}
	o := Options{AllowMetricLabelsManifest: "/none"}
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "--allow-metric-labels-manifest") {
		t.Errorf("got %v", err)
	}
}

// TestParseMetricLabels checks the forms of --allow-metric-labels.
func TestParseMetricLabels(t *testing.T) {
	c := NewCommandLine()
	if err := set(c, "allow-metric-labels=a,b=x,y", `allow-metric-labels="c,d=1,2","e,f=3"`); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"a,b": "x,y", "c,d": "1,2", "e,f": "3"} {
		if got := c.Options.AllowMetricLabels[key]; got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
}

// TestMetricsAreForAuthorizedUsers checks who may read metrics: those whom a role permits it,
// such as the members of system:monitoring.
func TestMetricsAreForAuthorizedUsers(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte("plain,plain,1,\nmonitor,monitor,2,system:monitoring\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := run(t, Options{TokenFile: tokens})
	c := raw(t, s)
	for _, path := range []string{"/metrics", "/metrics/slis"} {
		for token, want := range map[string]int{"": http.StatusForbidden, "plain": http.StatusForbidden, "monitor": http.StatusOK, s.Token: http.StatusOK} {
			if code, body := get(t, c, s.URL+path, token); code != want {
				t.Errorf("%s with the token %q: %d %s", path, token, code, body)
			}
		}
	}
	if _, ready := get(t, c, s.URL+"/readyz", s.Token); ready != "ok" {
		t.Errorf("readyz: %s", ready)
	}
	_, body := get(t, c, s.URL+"/metrics/slis", "monitor")
	for _, want := range []string{`kubernetes_healthcheck{name="`, `kubernetes_healthchecks_total{name="`, "[STABLE]"} {
		if !strings.Contains(body, want) {
			t.Errorf("there is no %s in %s", want, body)
		}
	}
}
