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

// withoutVary removes the header Vary, which kube-apiserver's metrics do not have.
func withoutVary(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(varyDropper{w}, r) })
}

// varyDropper is a response without the header Vary.
type varyDropper struct{ http.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w varyDropper) WriteHeader(code int) {
	w.Header().Del("Vary")
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w varyDropper) Write(b []byte) (int, error) {
	w.Header().Del("Vary")
	return w.ResponseWriter.Write(b)
}

// Unwrap returns the wrapped writer to http.ResponseController.
func (w varyDropper) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// metricsRoutes adds /metrics and /metrics/slis. As in kube-apiserver, DELETE resets the metrics, at
// /metrics only with profiling, and every other method reads them.
func (h *Handler) metricsRoutes(m *mux.Router) {
	options := promhttp.HandlerOpts{ProcessStartTime: h.Now()}
	if reset, ok := h.Metrics.(interface{ Reset() error }); ok && !h.NoProfiling {
		m.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
			if err := reset.Reset(); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			_, _ = io.WriteString(w, "metrics reset\n")
		}).Methods(http.MethodDelete)
	}
	m.Handle("/metrics", withoutVary(promhttp.HandlerFor(h.Metrics, options)))
	h.slis.routes(m, options)
	h.addToIndex("/metrics", "/metrics/slis")
}
