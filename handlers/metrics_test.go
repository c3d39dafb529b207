package handlers

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// series returns the number and the text of the children of a metric.
func series(t *testing.T, reg prometheus.Gatherer, name string) (n int, text string) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return len(f.GetMetric()), fmt.Sprint(f.GetMetric())
		}
	}
	return 0, ""
}

// TestMetricsAreBounded checks that clients cannot make up values of labels.
func TestMetricsAreBounded(t *testing.T) {
	h := newHandler(t, nil)
	sendAll := func(i int) {
		x := fmt.Sprint("x", i)
		for _, path := range []string{"/" + x, "/api/v1/" + x, "/apis/" + x + "/v1/pods", "/api/" + x + "/pods", mapsPath + "/" + x, mapsPath + "/a/" + x, mapsPath + "/a/b/" + x,
			"/api/v1/namespaces/" + x + "/pods", mapsPath + "?dryRun=" + x, "/healthz/" + x} {
			sendText(t, h, http.MethodGet, path, "")
			sendText(t, h, "FETCH"+strings.ToUpper(x), path, "")
		}
	}
	sendAll(0)
	before, _ := series(t, h.Metrics, "apiserver_request_total")
	for i := range 5 {
		sendAll(i)
	}
	after, text := series(t, h.Metrics, "apiserver_request_total")
	if after != before || before == 0 {
		t.Errorf("from %d series to %d: %s", before, after, text)
	}
}

// TestMetricsLabels checks the labels of requests.
func TestMetricsLabels(t *testing.T) {
	h := newHandler(t, nil)
	addMaps(t, h, "a")
	sendText(t, h, http.MethodDelete, mapsPath+"/a?dryRun=All", "")
	w := sendText(t, h, http.MethodGet, "/metrics", "")
	for _, want := range []string{
		`apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="configmaps",scope="namespace",subresource="",verb="POST",version="v1"} 1`,
		`apiserver_request_total{code="200",component="apiserver",dry_run="All",group="",resource="configmaps",scope="resource",subresource="",verb="DELETE",version="v1"} 1`,
		`apiserver_request_duration_seconds_count{component="apiserver",dry_run="",group="",resource="configmaps",scope="namespace",subresource="",verb="POST",version="v1"} 1`,
		`apiserver_current_inflight_requests{request_kind="readOnly"} 1`,
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("there is no %s in\n%s", want, w.Body)
		}
	}
}

// TestDryRunLabel checks the values of the label dry_run.
func TestDryRunLabel(t *testing.T) {
	for query, want := range map[string]string{"": "", "dryRun=All": "All", "dryRun=All&dryRun=All": "All", "dryRun=": "invalid", "dryRun=All&dryRun=x": "invalid"} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if got := dryRunLabel(values["dryRun"]); got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
}
