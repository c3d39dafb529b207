package admission

import (
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are kube-apiserver's, by its names.
type metrics struct {
	controller, step *prometheus.HistogramVec
	summary          *prometheus.SummaryVec
}

// latencyBuckets are kube-apiserver's for plugins and phases.
var latencyBuckets = []float64{0.005, 0.025, 0.1, 0.5, 1.0, 2.5}

// newMetrics registers the metrics; reg may be nil.
func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		controller: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_admission_controller_admission_duration_seconds", Buckets: latencyBuckets,
			Help: "Admission controller latency histogram in seconds, identified by name and broken out for each operation and API resource and type (validate or admit).",
		}, []string{"name", "type", "operation", "rejected"}),
		step: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_admission_step_admission_duration_seconds", Buckets: latencyBuckets,
			Help: "Admission sub-step latency histogram in seconds, broken out for each operation and API resource and step type (validate or admit).",
		}, []string{"type", "operation", "rejected"}),
		summary: prometheus.NewSummaryVec(prometheus.SummaryOpts{Name: "apiserver_admission_step_admission_duration_seconds_summary",
			Help:       "Admission sub-step latency summary in seconds, broken out for each operation and API resource and step type (validate or admit).",
			Objectives: map[float64]float64{0.5: 0.05, 0.9: 0.01, 0.99: 0.001}, MaxAge: 5 * time.Hour,
		}, []string{"type", "operation", "rejected"}),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.controller, m.step, m.summary} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of admission: %w", err)
		}
	}
	return m, nil
}

// plugin and phase find what to count in, once, since finding it by its labels
// costs more than counting.
func (m *metrics) plugin(name, verb, kind string) outcome {
	operation := strings.ToUpper(verb)
	return outcome{
		admitted: []prometheus.Observer{m.controller.WithLabelValues(name, kind, operation, "false")},
		rejected: []prometheus.Observer{m.controller.WithLabelValues(name, kind, operation, "true")},
	}
}

func (m *metrics) phase(verb, kind string) outcome {
	operation := strings.ToUpper(verb)
	of := func(rejected string) []prometheus.Observer {
		return []prometheus.Observer{m.step.WithLabelValues(kind, operation, rejected), m.summary.WithLabelValues(kind, operation, rejected)}
	}
	return outcome{admitted: of("false"), rejected: of("true")}
}
