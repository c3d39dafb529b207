package handlers

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/metricset"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/request"
)

// sliBuckets are the buckets of kube-apiserver for service level indicators.
var sliBuckets = []float64{0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60}

// sizeMetrics are the metrics of sizes and of parts of requests, with kube-apiserver's names
// and labels.
type sizeMetrics struct {
	sli, responses, bodies, fieldValidation *prometheus.HistogramVec
	watchLists, eventSizes                  *prometheus.HistogramVec
	events, selfRequests                    *prometheus.CounterVec
	terminations, aborts                    *prometheus.CounterVec
	shardedWatches                          *prometheus.GaugeVec
	outsideOfShards                         *prometheus.CounterVec
	filters                                 [filterCount]prometheus.Observer
}

// Steps of the chain whose duration is observed.
const (
	filterAuthentication = iota
	filterAuthorization
	filterImpersonation
	filterFairness
	filterCount
)

func newSizeMetrics(set *metricset.Set) *sizeMetrics {
	resource := []string{"verb", "group", "version", "resource", "subresource", "scope", "component"}
	m := &sizeMetrics{
		sli: set.NativeHistogramVec("apiserver_request_sli_duration_seconds",
			"[ALPHA] Duration of requests without the time in webhooks and in queues of priority and fairness, in seconds.",
			sliBuckets, resource...),
		responses: set.NativeHistogramVec("apiserver_response_sizes",
			"[STABLE] Size of the responses to gets and lists, in bytes.",
			prometheus.ExponentialBuckets(1000, 10, 7), resource...),
		bodies: set.NativeHistogramVec("apiserver_request_body_size_bytes",
			"[ALPHA] Size of the bodies of requests by resource and verb, in bytes.",
			prometheus.LinearBuckets(50000, 100000, 31), "group", "resource", "verb"),
		fieldValidation: set.NativeHistogramVec("field_validation_request_duration_seconds",
			"[ALPHA] Duration of writes by the parameter fieldValidation, in seconds.", sliBuckets, "field_validation"),
		watchLists: set.NativeHistogramVec("apiserver_watch_list_duration_seconds",
			"[BETA] Time until a watch that begins with a list has sent it, in seconds.",
			[]float64{0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 15, 20, 30, 45, 60},
			"group", "version", "resource", "scope"),
		eventSizes: set.NativeHistogramVec("apiserver_watch_events_sizes",
			"[BETA] Size of events sent to watches, in bytes.",
			prometheus.ExponentialBuckets(1024, 2, 8), "group", "version", "resource"),
		events: set.CounterVec("apiserver_watch_events_total",
			"[BETA] Number of events sent to watches.", "group", "version", "resource"),
		selfRequests: set.CounterVec("apiserver_selfrequest_total",
			"[ALPHA] Number of requests of the server to itself, such as those of its controllers, by verb and resource.",
			"verb", "group", "resource", "subresource"),
		terminations: set.CounterVec("apiserver_request_terminations_total",
			"[ALPHA] Number of requests that the server ended to protect itself: requests beyond its limits, "+
				"and requests that took too long.",
			"verb", "group", "version", "resource", "subresource", "scope", "component", "code"),
		shardedWatches: set.GaugeVec("apiserver_watch_shards_total",
			"[ALPHA] Number of watches in progress that are restricted by a shard selector.", "group", "resource"),
		outsideOfShards: set.CounterVec("apiserver_watch_filtered_events_total",
			"[ALPHA] Number of objects that watches did not get because of their shard selectors.", "group", "resource"),
		aborts: set.CounterVec("apiserver_request_aborts_total",
			"[ALPHA] Number of requests whose connection was closed in the middle of the response.",
			"verb", "group", "version", "resource", "subresource", "scope"),
	}
	filters := set.NativeHistogramVec("apiserver_request_filter_duration_seconds",
		"[ALPHA] Duration of the steps before a request is routed, in seconds.",
		[]float64{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 5, 10, 15, 30}, "filter")
	for filter, name := range [filterCount]string{filterAuthentication: "authentication", filterAuthorization: "authorization",
		filterImpersonation: "impersonation", filterFairness: "priorityandfairness"} {
		m.filters[filter] = filters.WithLabelValues(name)
	}
	metricset.Add(set, &formerName{of: m.sli, desc: prometheus.NewDesc("apiserver_request_slo_duration_seconds",
		"[ALPHA] (Deprecated since 1.27.0) Former name of apiserver_request_sli_duration_seconds.", resource, nil)})
	return m
}

// formerName shows a metric under another name.
type formerName struct {
	of   *prometheus.HistogramVec
	desc *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (f *formerName) Describe(ch chan<- *prometheus.Desc) { ch <- f.desc }

// Collect implements prometheus.Collector.
func (f *formerName) Collect(ch chan<- prometheus.Metric) {
	from := make(chan prometheus.Metric)
	go func() {
		_ = recovery.Call(nil, "collecting metrics", func() {
			defer close(from)
			f.of.Collect(from)
		})
	}()
	for m := range from {
		ch <- renamedMetric{m, f.desc}
	}
}

type renamedMetric struct {
	prometheus.Metric
	desc *prometheus.Desc
}

// Desc implements prometheus.Metric.
func (m renamedMetric) Desc() *prometheus.Desc { return m.desc }

// terminate counts a request that the server ends with a code to protect itself.
func (m *metrics) terminate(catalogue *api.Catalogue, r *http.Request, info *request.Info, code int) {
	k := boundLabels(catalogue, r, info)
	m.sizes.terminations.WithLabelValues(k.verb, k.group, k.version, k.resource, k.subresource, k.scope, "apiserver", strconv.Itoa(code)).Inc()
}

// abort counts a request whose connection is closed in the middle of the response.
func (m *metrics) abort(catalogue *api.Catalogue, r *http.Request, info *request.Info) {
	k := boundLabels(catalogue, r, info)
	m.sizes.aborts.WithLabelValues(k.verb, k.group, k.version, k.resource, k.subresource, k.scope).Inc()
}

// boundLabels returns the labels of a request that may not be routed yet: clients can name any
// resource, so only those in the catalogue count.
func boundLabels(catalogue *api.Catalogue, r *http.Request, info *request.Info) requestLabels {
	res, _, ok := catalogue.Lookup(schema.GroupVersion{Group: info.Group, Version: info.Version}, info.Resource)
	known := ok && (info.Subresource == "" || info.Subresource == "status" || res.Subresource(info.Subresource) != nil)
	return labelsOf(r, &request.Scope{Info: *info, Routed: known}, 0)
}

// countEvents counts the events of one watch.
type countEvents struct {
	total prometheus.Counter
	sizes prometheus.Observer
}

// events returns the metrics of a watch.
func (m *metrics) events(info *request.Info) countEvents {
	return countEvents{m.sizes.events.WithLabelValues(info.Group, info.Version, info.Resource),
		m.sizes.eventSizes.WithLabelValues(info.Group, info.Version, info.Resource)}
}

// Sent counts an event.
func (e countEvents) Sent(size int) {
	e.total.Inc()
	e.sizes.Observe(float64(size))
}

// fieldValidationLabel returns the value of the label field_validation for the value of the
// parameter. Clients cannot make up values.
func fieldValidationLabel(v string) string {
	switch v {
	case "", metav1.FieldValidationIgnore, metav1.FieldValidationWarn, metav1.FieldValidationStrict:
		return v
	}
	return "invalid"
}
