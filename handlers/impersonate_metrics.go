package handlers

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// impersonationMetrics have kube-apiserver's names and labels.
type impersonationMetrics struct {
	attempts, checks               *prometheus.CounterVec
	attemptDuration, checkDuration *prometheus.HistogramVec
}

func newImpersonationMetrics(set *metricset.Set) *impersonationMetrics {
	buckets := prometheus.ExponentialBuckets(0.001, 2, 15)
	return &impersonationMetrics{
		attempts: set.CounterVec("apiserver_impersonation_attempts_total",
			"[ALPHA] Total number of impersonation attempts split by mode and decision.", "mode", "decision"),
		attemptDuration: set.HistogramVec("apiserver_impersonation_attempts_duration_seconds",
			"[ALPHA] Latency of impersonation attempts in seconds split by mode and decision.", buckets, "mode", "decision"),
		checks: set.CounterVec("apiserver_impersonation_authorization_attempts_total",
			"[ALPHA] Total number of authorization checks made by the impersonation handler split by mode and decision.",
			"mode", "decision"),
		checkDuration: set.HistogramVec("apiserver_impersonation_authorization_attempts_duration_seconds",
			"[ALPHA] Latency of authorization checks made by the impersonation handler in seconds split by mode and decision.",
			buckets, "mode", "decision"),
	}
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
