package description

import (
	"io"
	"net/http"

	"github.com/gorilla/mux"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// slis are the service level indicators at /metrics/slis: the results of health checks, in a
// registry of their own that can be read often.
type slis struct {
	registry Metrics
	last     *prometheus.GaugeVec
	total    *prometheus.CounterVec
}

func newSLIs(reg Metrics) (*slis, error) {
	if reg == nil {
		reg = prometheus.NewRegistry()
	}
	var set metricset.Set
	return &slis{
		registry: reg,
		last: set.GaugeVec("kubernetes_healthcheck",
			"[STABLE] Result of the last health check of a type and name: 1 if it passed.", "type", "name"),
		total: set.CounterVec("kubernetes_healthchecks_total",
			"[STABLE] Number of health checks by type, name and result.", "type", "name", "status"),
	}, set.Register(reg)
}

// observe records the result of a check of one of the health paths.
func (s *slis) observe(path, check string, err error) {
	value, status := 1.0, "success"
	if err != nil {
		value, status = 0, "error"
	}
	s.last.WithLabelValues(path, check).Set(value)
	s.total.WithLabelValues(path, check, status).Inc()
}

// routes adds /metrics/slis. DELETE resets the metrics.
func (s *slis) routes(m *mux.Router, o promhttp.HandlerOpts) {
	show := withoutVary(promhttp.HandlerFor(s.registry, o))
	m.HandleFunc("/metrics/slis", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			s.last.Reset()
			s.total.Reset()
			_, _ = io.WriteString(w, "metrics reset\n")
			return
		}
		show.ServeHTTP(w, r)
	})
}
