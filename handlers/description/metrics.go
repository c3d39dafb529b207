package description

import (
	"net/http"

	"github.com/gorilla/mux"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is a registry of metrics.
type Metrics interface {
	prometheus.Registerer
	prometheus.Gatherer
}

// newAggregations returns the counter of aggregated discovery documents, with
// kube-apiserver's name.
func newAggregations() prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: "aggregator_discovery_aggregation_count_total",
		Help: "[ALPHA] Counter of number of times discovery was aggregated"})
}

// metricsRoutes adds /metrics and /metrics/slis.
func (h *Handler) metricsRoutes(m *mux.Router) {
	serve := promhttp.HandlerFor(h.Metrics, promhttp.HandlerOpts{})
	m.Handle("/metrics", serve).Methods(http.MethodGet, http.MethodHead)
	h.slis.routes(m)
	h.addToIndex("/metrics", "/metrics/slis")
}
