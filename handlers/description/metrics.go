package description

import (
	"io"
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

// metricsRoutes adds /metrics and /metrics/slis. As in kube-apiserver, DELETE resets the metrics, at
// /metrics only with profiling.
func (h *Handler) metricsRoutes(m *mux.Router) {
	options := promhttp.HandlerOpts{ProcessStartTime: h.Now()}
	serve := promhttp.HandlerFor(h.Metrics, options)
	m.Handle("/metrics", serve).Methods(http.MethodGet, http.MethodHead)
	if reset, ok := h.Metrics.(interface{ Reset() error }); ok && !h.NoProfiling {
		m.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
			if err := reset.Reset(); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			_, _ = io.WriteString(w, "metrics reset\n")
		}).Methods(http.MethodDelete)
	}
	h.slis.routes(m, options)
	h.addToIndex("/metrics", "/metrics/slis")
}
