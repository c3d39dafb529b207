package match

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics holds the metrics of match conditions and expressions, under kube-apiserver's names. All
// methods accept a nil receiver.
type Metrics struct {
	seconds            *prometheus.HistogramVec
	errors, exclusions *prometheus.CounterVec
	compile, evaluate  prometheus.Histogram
}

// NewMetrics creates the metrics, which policies and webhooks share, and registers them unless reg
// is nil.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	const broken = ", identified by name of resource containing the match condition and broken out for each kind containing matchConditions (webhook or policy), operation and admission type (validate or admit)."
	labels := []string{"name", "kind", "type", "operation"}
	m := &Metrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_admission_match_condition_evaluation_seconds",
			Buckets: []float64{0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25},
			Help: "[ALPHA] Admission match condition evaluation time in seconds, identified by name and broken out " +
				"for each kind containing matchConditions (webhook or policy), operation and type (validate or " +
				"admit)."}, labels),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_admission_match_condition_evaluation_errors_total",
			Help: "[ALPHA] Admission match condition evaluation errors count" + broken}, labels),
		exclusions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_admission_match_condition_exclusions_total",
			Help: "[ALPHA] Admission match condition evaluation exclusions count" + broken}, labels),
		compile: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "apiserver_cel_compilation_duration_seconds",
			Help: "[BETA] CEL compilation time in seconds."}),
		evaluate: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "apiserver_cel_evaluation_duration_seconds",
			Help: "[BETA] CEL evaluation time in seconds."}),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.seconds, m.errors, m.exclusions, m.compile, m.evaluate} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register match condition metrics: %w", err)
		}
	}
	return m, nil
}

func (m *Metrics) conditions(o Owner, operation string, d time.Duration) {
	if m != nil {
		m.seconds.WithLabelValues(o.Name, o.Kind, o.Type, operation).Observe(d.Seconds())
		m.evaluate.Observe(d.Seconds())
	}
}

func (m *Metrics) conditionError(o Owner, operation string) {
	if m != nil {
		m.errors.WithLabelValues(o.Name, o.Kind, o.Type, operation).Inc()
	}
}

// Excluded counts a webhook that was not called because of its match conditions.
func (m *Metrics) Excluded(o Owner, operation string) {
	if m != nil {
		m.exclusions.WithLabelValues(o.Name, o.Kind, o.Type, operation).Inc()
	}
}

// Compiled observes the duration of compiling expressions.
func (m *Metrics) Compiled(d time.Duration) {
	if m != nil {
		m.compile.Observe(d.Seconds())
	}
}

// Evaluated observes the duration of evaluating expressions other than match conditions.
func (m *Metrics) Evaluated(d time.Duration) {
	if m != nil {
		m.evaluate.Observe(d.Seconds())
	}
}
