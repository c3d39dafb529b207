package handlers

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/apf"
	"github.com/miniapiserver/miniapiserver/internal/metricset"
	"github.com/miniapiserver/miniapiserver/request"
)

// metrics are the metrics of requests, with kube-apiserver's names and labels.
type metrics struct {
	total          *prometheus.CounterVec
	duration       *prometheus.HistogramVec
	longRunning    *prometheus.GaugeVec
	deprecated     *prometheus.GaugeVec
	sizes          *sizeMetrics
	authentication *authenticationMetrics
	impersonation  *impersonationMetrics
	logs           *logMetrics
	streams        *streamMetrics
	// children caches the children of total and duration, because finding them by their
	// labels costs more than counting.
	children sync.Map // requestLabels -> *requestMetrics
}

// requestLabels are the labels by which requests are counted.
type requestLabels struct {
	verb, group, version, resource, subresource, scope, dryRun string
	code                                                       int
}

// requestMetrics are the metrics of requests with the same labels.
type requestMetrics struct {
	total    prometheus.Counter
	duration prometheus.Observer
	// sli is nil for long-running requests, and size for requests other than gets and lists.
	sli, size prometheus.Observer
}

// durationBuckets are the buckets of kube-apiserver.
var durationBuckets = []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60}

func newMetrics(reg prometheus.Registerer, in *apf.Inflight) (*metrics, error) {
	var set metricset.Set
	metricset.Add(&set, in)
	return &metrics{
		total: set.CounterVec("apiserver_request_total",
			"[STABLE] Counter of apiserver requests broken out for each verb, dry run value, group, version, "+
				"resource, scope, component, and HTTP response code.",
			"verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component", "code"),
		duration: set.NativeHistogramVec("apiserver_request_duration_seconds",
			"[STABLE] Response latency distribution in seconds for each verb, dry run value, group, version, "+
				"resource, subresource, scope and component.", durationBuckets,
			"verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component"),
		longRunning: set.GaugeVec("apiserver_longrunning_requests",
			"[STABLE] Gauge of all active long-running apiserver requests broken out by verb, group, "+
				"version, resource, scope and component. Not all requests are tracked this way.",
			"verb", "group", "version", "resource", "subresource", "scope", "component"),
		deprecated: set.GaugeVec("apiserver_requested_deprecated_apis",
			"[STABLE] Gauge of deprecated APIs that have been requested, broken out by API group, version, "+
				"resource, subresource, and removed_release.",
			"group", "version", "resource", "subresource", "removed_release"),
		sizes: newSizeMetrics(&set), authentication: newAuthenticationMetrics(&set),
		impersonation: newImpersonationMetrics(&set), logs: newLogMetrics(&set), streams: newStreamMetrics(&set),
	}, set.Register(reg)
}

// child returns the metrics of requests with the given labels.
func (m *metrics) child(k requestLabels) *requestMetrics {
	if c, ok := m.children.Load(k); ok {
		return c.(*requestMetrics)
	}
	labels := []string{k.verb, k.dryRun, k.group, k.version, k.resource, k.subresource, k.scope, "apiserver"}
	c := &requestMetrics{
		duration: m.duration.WithLabelValues(labels...),
		total:    m.total.WithLabelValues(append(labels, strconv.Itoa(k.code))...),
	}
	withoutDryRun := append([]string{k.verb}, labels[2:8]...)
	if k.verb != labelWatch && k.verb != labelConnect {
		c.sli = m.sizes.sli.WithLabelValues(withoutDryRun...)
	}
	if k.verb == http.MethodGet || k.verb == "LIST" {
		c.size = m.sizes.responses.WithLabelValues(withoutDryRun...)
	}
	m.children.Store(k, c)
	return c
}

// measure counts and times requests, and logs them at level 3.
func (h *Handler) measure(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		scope := request.From(r.Context())
		start := time.Now()
		sw := &responseWriter{ResponseWriter: w, scope: scope, r: r, gates: h.Gates, timeout: h.RequestTimeout, received: start}
		defer func() {
			k := labelsOf(r, scope, sw.code)
			c := h.metrics.child(k)
			c.total.Inc()
			elapsed := time.Since(start)
			if !scope.Info.Watch {
				c.duration.Observe(elapsed.Seconds())
			}
			h.observe(c, &k, sw, r, elapsed)
			if h.Logger.Enabled(r.Context(), levelRequests) {
				h.Logger.Log(r.Context(), levelRequests, "request", "id", scope.LogID(), "verb", scope.Info.Verb, "uri", r.URL.RequestURI(),
					"code", k.code, "duration", elapsed, "user", userName(scope), "agent", r.UserAgent())
			}
		}()
		next(sw, r)
	}
}

// observe observes the size of a request, and its duration without the time in webhooks and
// queues.
func (h *Handler) observe(c *requestMetrics, k *requestLabels, w *responseWriter, r *http.Request, elapsed time.Duration) {
	m, info := h.metrics.sizes, &w.scope.Info
	d := &w.scope.Durations
	waited := d.Of(request.PartAPFQueueWait)
	if h.Limiter != nil {
		m.filters[filterFairness].Observe(waited.Seconds())
	}
	if c.sli != nil {
		c.sli.Observe(max(0, elapsed-waited-d.Of(request.PartMutatingWebhook)-d.Of(request.PartValidatingWebhook)).Seconds())
	}
	if c.size != nil {
		c.size.Observe(float64(w.written))
	}
	switch info.Verb {
	case "create", "update", "patch":
		label := ""
		if v := info.Query.Get("fieldValidation"); v != "" {
			label = fieldValidationLabel(v)
		}
		m.fieldValidation.WithLabelValues(label).Observe(elapsed.Seconds())
	}
	if r.RemoteAddr == "" { // the request came through no connection
		if !w.scope.Routed {
			*k = boundLabels(h.Catalogue, r, info)
		}
		m.selfRequests.WithLabelValues(k.verb, k.group, k.resource, k.subresource).Inc()
	}
	if w.code == http.StatusGatewayTimeout && !info.Connects {
		h.metrics.terminate(h.Catalogue, r, info, w.code)
	}
}

// Values of the label verb for long-running requests.
const (
	labelWatch   = "WATCH"
	labelConnect = "CONNECT"
)

// countLongRunning counts a long-running request until done is called.
func (m *metrics) countLongRunning(verb string, info *request.Info) (done func()) {
	gauge := m.longRunning.WithLabelValues(verb, info.Group, info.Version, info.Resource, info.Subresource, scopeLabel(info), "apiserver")
	gauge.Inc()
	return gauge.Dec
}

// levelRequests is the level at which every request is logged: --v=3.
const levelRequests = -3

// userName returns the name of the authenticated user; empty if there is none.
func userName(s *request.Scope) string {
	if s.User == nil {
		return ""
	}
	return s.User.Name
}

// labelsOf returns the labels of a request. Clients can make up methods and paths, so those
// count only if they lead to a served resource.
func labelsOf(r *http.Request, scope *request.Scope, code int) requestLabels {
	if code == 0 {
		code = http.StatusOK
	}
	info := &scope.Info
	if !info.IsResource || !scope.Routed {
		k := requestLabels{verb: methodLabel(r.Method), code: code}
		if as := scope.CountedAs; as != nil {
			k.group, k.version, k.resource = as.Group, as.Version, as.Resource
		}
		return k
	}
	k := requestLabels{verb: strings.ToUpper(info.Verb), group: info.Group, version: info.Version,
		resource: info.Resource, subresource: info.Subresource, scope: scopeLabel(info), code: code}
	switch info.Verb {
	case "create":
		k.verb = "POST"
	case "update":
		k.verb = "PUT"
	}
	if info.Connects {
		k.verb = labelConnect
	}
	if values := info.Query["dryRun"]; len(values) > 0 {
		k.dryRun = dryRunLabel(values)
	}
	return k
}

// dryRunLabel returns the value of the label dry_run for the values of the parameter. Clients
// cannot make up values.
func dryRunLabel(values []string) string {
	for _, v := range values {
		if v != metav1.DryRunAll {
			return "invalid"
		}
	}
	if len(values) > 0 {
		return metav1.DryRunAll
	}
	return ""
}

// scopeLabel returns the value of the label scope: one object, a namespace or the cluster.
func scopeLabel(info *request.Info) string {
	switch {
	case info.Name != "" || info.Verb == "create":
		return "resource"
	case info.Namespace != "":
		return "namespace"
	}
	return "cluster"
}

// methodLabel returns the value of the label verb for a request without a resource.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions:
		return method
	}
	return "OTHER"
}
