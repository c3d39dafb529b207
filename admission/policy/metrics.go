package policy

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// metrics holds the policy metrics, under kube-apiserver's names.
type metrics struct{ validating, mutating checkMetrics }

// checkMetrics counts checks and observes their duration.
type checkMetrics struct {
	total   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	buckets := []float64{0.0000005, 0.001, 0.01, 0.1, 1.0}
	var set metricset.Set
	return &metrics{
		validating: checkMetrics{
			set.CounterVec("apiserver_validating_admission_policy_check_total",
				"[BETA] Validation admission policy check total, labeled by policy and further identified by "+
					"binding and enforcement action taken.",
				"policy", "policy_binding", "error_type", "enforcement_action"),
			set.HistogramVec("apiserver_validating_admission_policy_check_duration_seconds",
				"[BETA] Validation admission latency for individual validation expressions in seconds, labeled by "+
					"policy and further including binding and enforcement action taken.", buckets,
				"policy", "policy_binding", "error_type", "enforcement_action"),
		},
		mutating: checkMetrics{
			set.CounterVec("apiserver_mutating_admission_policy_check_total",
				"[ALPHA] Mutation admission policy check total, labeled by policy and further identified by binding.",
				"policy", "policy_binding", "error_type"),
			set.HistogramVec("apiserver_mutating_admission_policy_check_duration_seconds",
				"[ALPHA] Mutation admission latency for individual mutation expressions in seconds, labeled by "+
					"policy and binding.", buckets, "policy", "policy_binding", "error_type"),
		},
	}, set.Register(reg)
}

func (c checkMetrics) observe(d time.Duration, labels ...string) {
	c.total.WithLabelValues(labels...).Inc()
	c.seconds.WithLabelValues(labels...).Observe(d.Seconds())
}

func (m *metrics) validated(d time.Duration, policy, binding, kind, action string) {
	m.validating.observe(d, policy, binding, kind, action)
}

func (m *metrics) mutated(d time.Duration, policy, binding string, err error) {
	kind := "no_error"
	if err != nil {
		kind = errorKind(err.Error())
	}
	m.mutating.observe(d, policy, binding, kind)
}

// errorKind returns the error_type label of a message.
func errorKind(message string) string {
	switch {
	case strings.HasPrefix(message, "compilation"):
		return "compile_error"
	case strings.HasPrefix(message, "validation failed due to running out of cost budget"):
		return "out_of_budget"
	}
	return "invalid_error"
}
