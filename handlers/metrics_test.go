package handlers

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/authz"
	shown "github.com/miniapiserver/miniapiserver/internal/metrics"
	"github.com/miniapiserver/miniapiserver/request"
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
		`apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="configmaps",scope="resource",subresource="",verb="POST",version="v1"} 1`,
		`apiserver_request_total{code="200",component="apiserver",dry_run="All",group="",resource="configmaps",scope="resource",subresource="",verb="DELETE",version="v1"} 1`,
		`apiserver_request_duration_seconds_count{component="apiserver",dry_run="",group="",resource="configmaps",scope="resource",subresource="",verb="POST",version="v1"} 1`,
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

// TestSizeMetrics checks the metrics of sizes and parts of requests.
func TestSizeMetrics(t *testing.T) {
	reg := shown.New(shown.Options{ShowHidden: true})
	decisions, err := authz.NewMetrics(reg)
	if err != nil {
		t.Fatal(err)
	}
	h := newHandler(t, func(c *Config) { c.Metrics, c.Decisions = reg, decisions })
	addMaps(t, h, "a", "b")
	sendText(t, h, http.MethodGet, mapsPath+"/a", "")
	sendText(t, h, http.MethodGet, mapsPath, "")
	sendText(t, h, http.MethodGet, mapsPath+"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1", "")
	text := sendText(t, h, http.MethodGet, "/metrics", "").Body.String()
	const maps = `group="",resource="configmaps",`
	for _, want := range []string{
		`apiserver_request_sli_duration_seconds_count{component="apiserver",` + maps + `scope="resource",subresource="",verb="POST",version="v1"} 2`,
		`apiserver_request_slo_duration_seconds_count{component="apiserver",` + maps + `scope="resource",subresource="",verb="POST",version="v1"} 2`,
		`apiserver_response_sizes_count{component="apiserver",` + maps + `scope="resource",subresource="",verb="GET",version="v1"} 1`,
		`apiserver_response_sizes_count{component="apiserver",` + maps + `scope="namespace",subresource="",verb="LIST",version="v1"} 1`,
		`apiserver_request_body_size_bytes_bucket{` + maps + `verb="create",le="50000"} 2`,
		`field_validation_request_duration_seconds_count{field_validation=""} 2`,
		`apiserver_watch_events_total{` + maps + `version="v1"} 3`,
		`apiserver_watch_events_sizes_count{` + maps + `version="v1"} 3`,
		`apiserver_watch_list_duration_seconds_count{` + maps + `scope="namespace",version="v1"} 1`,
		`apiserver_request_filter_duration_seconds_count{filter="authentication"} 6`,
		`apiserver_request_filter_duration_seconds_count{filter="authorization"} 6`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	for _, no := range []string{`apiserver_response_sizes_count{component="apiserver",` + maps + `scope="resource",subresource="",verb="POST"`, `sli_duration_seconds_count{component="apiserver",` + maps + `scope="namespace",subresource="",verb="WATCH"`} {
		if strings.Contains(text, no) {
			t.Errorf("there is %s", no)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestSLIExcludesWaiting checks that webhooks and queues do not count as duration of the server.
func TestSLIExcludesWaiting(t *testing.T) {
	for _, c := range []struct {
		queue, mutating, validating time.Duration
		want                        float64
	}{
		{0, 0, 0, 10},
		{time.Second, 2 * time.Second, 3 * time.Second, 4},
		{11 * time.Second, 0, 0, 0},
	} {
		h := newHandler(t, nil)
		scope := &request.Scope{Info: request.Info{Verb: "get"}}
		scope.Durations.Add(request.PartAPFQueueWait, c.queue)
		scope.Durations.Add(request.PartMutatingWebhook, c.mutating)
		scope.Durations.Raise(request.PartValidatingWebhook, c.validating)
		r := httptest.NewRequest(http.MethodGet, mapsPath, nil)
		k := requestLabels{verb: "GET", code: 200}
		h.observe(h.metrics.child(k), &k, &responseWriter{scope: scope}, r, 10*time.Second)
		if _, text := series(t, h.Metrics, "apiserver_request_sli_duration_seconds"); !strings.Contains(text, fmt.Sprint("sample_sum:", c.want)) {
			t.Errorf("%+v: got %s", c, text)
		}
	}
}

// TestTerminations checks that requests without room are counted, by labels that clients cannot
// make up.
func TestTerminations(t *testing.T) {
	h := newHandler(t, func(c *Config) { c.MaxRequestsInflight, c.Authenticator = 1, fixedUser{&request.User{Name: "u"}} })
	h.Inflight.Execute(false)
	for _, path := range []string{mapsPath + "/a", mapsPath, "/apis/made-up/v1/things", mapsPath + "/a/made-up", "/version"} {
		if w := sendText(t, h, http.MethodGet, path, ""); w.Code != http.StatusTooManyRequests {
			t.Fatalf("%s: %d", path, w.Code)
		}
	}
	h.Inflight.Done(false)
	n, text := series(t, h.Metrics, "apiserver_request_terminations_total")
	if n != 3 || strings.Contains(text, "made-up") || !strings.Contains(text, "configmaps") || !strings.Contains(text, "429") {
		t.Errorf("%d series: %s", n, text)
	}
}

// TestSelfRequests checks that requests through no connection are counted.
func TestSelfRequests(t *testing.T) {
	h := newHandler(t, nil)
	r := httptest.NewRequest(http.MethodGet, mapsPath, nil)
	sendText(t, h, http.MethodGet, mapsPath, "")
	r.RemoteAddr = ""
	h.ServeHTTP(httptest.NewRecorder(), r)
	n, text := series(t, h.Metrics, "apiserver_selfrequest_total")
	if n != 1 || !strings.Contains(text, "configmaps") || !strings.Contains(text, "value:1") {
		t.Errorf("%d series: %s", n, text)
	}
}

// TestAborts checks that a response that ends in the middle is counted.
func TestAborts(t *testing.T) {
	h := newHandler(t, nil)
	abort := h.identify(h.measure(h.recoverPanics(h.parse(func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }))))
	func() {
		defer func() { _ = recover() }()
		abort(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, mapsPath, nil))
	}()
	if n, text := series(t, h.Metrics, "apiserver_request_aborts_total"); n != 1 || !strings.Contains(text, "configmaps") {
		t.Errorf("%d series: %s", n, text)
	}
}

// TestFieldValidationLabel checks the values of the label field_validation.
func TestFieldValidationLabel(t *testing.T) {
	for value, want := range map[string]string{"": "", "Strict": "Strict", "Warn": "Warn", "Ignore": "Ignore", "x": "invalid"} {
		if got := fieldValidationLabel(value); got != want {
			t.Errorf("%q: got %q", value, got)
		}
	}
}
