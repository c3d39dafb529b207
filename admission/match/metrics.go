package match

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
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
	const broken = ", identified by name of resource containing the match condition and broken out for each kind " +
		"containing matchConditions (webhook or policy), operation and admission type (validate or admit)."
	var set metricset.Set
	return &Metrics{
		seconds: set.HistogramVec("apiserver_admission_match_condition_evaluation_seconds",
			"[ALPHA] Admission match condition evaluation time in seconds, identified by name and broken out "+
				"for each kind containing matchConditions (webhook or policy), operation and type (validate or "+
				"admit).", []float64{0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25}, "name", "kind", "type", "operation"),
		errors: set.CounterVec("apiserver_admission_match_condition_evaluation_errors_total",
			"[ALPHA] Admission match condition evaluation errors count"+broken, "name", "kind", "type", "operation"),
		exclusions: set.CounterVec("apiserver_admission_match_condition_exclusions_total",
			"[ALPHA] Admission match condition evaluation exclusions count"+broken, "name", "kind", "type", "operation"),
		compile: set.Histogram("apiserver_cel_compilation_duration_seconds",
			"[BETA] CEL compilation time in seconds.", nil),
		evaluate: set.Histogram("apiserver_cel_evaluation_duration_seconds",
			"[BETA] CEL evaluation time in seconds.", nil),
	}, set.Register(reg)
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
