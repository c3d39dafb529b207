package server

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protodelim"
)

// TestMetricFlags checks --disabled-metrics, --allow-metric-labels, its manifest, and
// --show-hidden-metrics-for-version.
func TestMetricFlags(t *testing.T) {
	manifest := filepath.Join(t.TempDir(), "labels.yaml")
	if err := os.WriteFile(manifest, []byte("apiserver_request_total,verb: GET\napiserver_request_total,code: \"500\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := run(t, Options{
		Metrics: Metrics{Disabled: []string{"apiserver_request_duration_seconds"},
			AllowLabels: map[string]string{"apiserver_request_total,code": "404,410"}, AllowLabelsManifest: manifest, ShowHiddenForVersion: "1.36"},
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

// TestNativeHistograms checks that histograms have native buckets beside the classic ones in the
// protobuf format, unless the gate is off, and the header with the time of the start.
func TestNativeHistograms(t *testing.T) {
	for name, c := range map[string]struct {
		gates map[string]bool
		want  bool
	}{
		"by default": {nil, true},
		"off":        {map[string]bool{"NativeHistograms": false}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := run(t, Options{FeatureGates: c.gates})
			get(t, raw(t, s), s.URL+"/api/v1/namespaces/default", s.Token)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/metrics", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+s.Token)
			r.Header.Set("Accept", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
			response, err := raw(t, s).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if start, err := strconv.ParseInt(response.Header.Get("Process-Start-Time-Unix"), 10, 64); err != nil || start < 1 {
				t.Errorf("the start: %d, %v", start, err)
			}
			native := map[string]bool{}
			for body := bufio.NewReader(response.Body); ; {
				f := &dto.MetricFamily{}
				if err := protodelim.UnmarshalFrom(body, f); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				for _, m := range f.Metric {
					if h := m.Histogram; h.GetSampleCount() > 0 && len(h.GetBucket()) > 0 {
						native[f.GetName()] = h.Schema != nil && len(h.PositiveSpan) > 0
					}
				}
			}
			for _, metric := range []string{"apiserver_request_duration_seconds", "apiserver_response_sizes", "etcd_request_duration_seconds", "authorization_duration_seconds"} {
				if got, ok := native[metric]; !ok || got != c.want {
					t.Errorf("%s: %v, %v, want %v", metric, got, ok, c.want)
				}
			}
			// kube-apiserver registers it before the gates are known.
			if got, ok := native["workqueue_work_duration_seconds"]; !ok || got {
				t.Errorf("a classic histogram: %v, %v", got, ok)
			}
		})
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
		o := Options{Metrics: Metrics{AllowLabelsManifest: file}}
		switch _, err := o.metricOptions(); {
		case want == "" && err != nil:
			t.Errorf("%q: %v", content, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--allow-metric-labels-manifest")):
			t.Errorf("%q: got %v, want %q", content, err, want)
		}
	}
	o := Options{Metrics: Metrics{AllowLabelsManifest: "/none"}}
	if _, err := o.metricOptions(); err == nil || !strings.Contains(err.Error(), "--allow-metric-labels-manifest") {
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
		if got := c.Options.Metrics.AllowLabels[key]; got != want {
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
	s := run(t, Options{Authentication: Authentication{TokenFile: tokens}})
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
