package handlers

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// impersonationMetrics have kube-apiserver's names and labels.
type impersonationMetrics struct {
	attempts, checks               *prometheus.CounterVec
	attemptDuration, checkDuration *prometheus.HistogramVec
}

func newImpersonationMetrics(reg prometheus.Registerer) (*impersonationMetrics, error) {
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: "[ALPHA] " + help}, []string{"mode", "decision"})
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: "[ALPHA] " + help,
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15)}, []string{"mode", "decision"})
	}
	m := &impersonationMetrics{
		attempts: counter("apiserver_impersonation_attempts_total",
			"Total number of impersonation attempts split by mode and decision."),
		attemptDuration: histogram("apiserver_impersonation_attempts_duration_seconds",
			"Latency of impersonation attempts in seconds split by mode and decision."),
		checks: counter("apiserver_impersonation_authorization_attempts_total",
			"Total number of authorization checks made by the impersonation handler split by mode and decision."),
		checkDuration: histogram("apiserver_impersonation_authorization_attempts_duration_seconds",
			"Latency of authorization checks made by the impersonation handler in seconds split by mode and decision."),
	}
	for _, c := range []prometheus.Collector{m.attempts, m.attemptDuration, m.checks, m.checkDuration} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// attempt counts one impersonation request.
func (m *impersonationMetrics) attempt(mode, decision string, took time.Duration) {
	m.attempts.WithLabelValues(mode, decision).Inc()
	m.attemptDuration.WithLabelValues(mode, decision).Observe(took.Seconds())
}

// check counts one authorization check of an impersonation request.
func (m *impersonationMetrics) check(mode, decision string, took time.Duration) {
	m.checks.WithLabelValues(mode, decision).Inc()
	m.checkDuration.WithLabelValues(mode, decision).Observe(took.Seconds())
}
