package authz

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/hooks"
)

// webhookMetrics are the metrics of webhooks and of their match conditions.
type webhookMetrics struct {
	evaluations, failOpen *prometheus.CounterVec   // by name and result
	duration              *prometheus.HistogramVec // by name and result
	exclusions, errors    *prometheus.CounterVec   // by type and name
	matching              *prometheus.HistogramVec // by type and name
}

func newWebhookMetrics() *webhookMetrics {
	const prefix = "apiserver_authorization_"
	byResult, byType := []string{"name", "result"}, []string{"type", "name"}
	counter := func(name, help string, labels []string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: "[ALPHA] " + help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels []string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + name, Help: "[ALPHA] " + help, Buckets: buckets}, labels)
	}
	return &webhookMetrics{
		evaluations: counter("webhook_evaluations_total", "Round-trips to authorization webhooks.", byResult),
		failOpen:    counter("webhook_evaluations_fail_open_total", "NoOpinion results due to webhook timeout or error.", byResult),
		duration:    histogram("webhook_duration_seconds", "Request latency in seconds.", prometheus.DefBuckets, byResult),
		exclusions: counter("match_condition_exclusions_total",
			"Total number of exclusions when an authorization webhook is skipped because match conditions exclude it.", byType),
		errors: counter("match_condition_evaluation_errors_total",
			"Total number of errors when an authorization webhook encounters a match condition error split by authorizer type and name.", byType),
		matching: histogram("match_condition_evaluation_seconds",
			"Authorization match condition evaluation time in seconds, split by authorizer type and name.",
			[]float64{0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25}, byType),
	}
}

func (m *webhookMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.evaluations, m.failOpen, m.duration, m.exclusions, m.errors, m.matching}
}

// matched records the evaluation of the match conditions of a webhook.
func (m *webhookMetrics) matched(name string, match bool, took time.Duration, err error) {
	m.matching.WithLabelValues(ModeWebhook, name).Observe(took.Seconds())
	switch {
	case err != nil:
		m.errors.WithLabelValues(ModeWebhook, name).Inc()
	case !match:
		m.exclusions.WithLabelValues(ModeWebhook, name).Inc()
	}
}

// called records one request to a webhook, on behalf of a request with the context ctx.
func (m *webhookMetrics) called(ctx context.Context, name string, took time.Duration, err error) {
	result := callResult(err)
	if err != nil && ctx.Err() != nil {
		result = "canceled"
	}
	m.evaluations.WithLabelValues(name, result).Inc()
	m.duration.WithLabelValues(name, result).Observe(took.Seconds())
}

// failedOpen counts a failure that leaves the decision to other authorizers.
func (m *webhookMetrics) failedOpen(name string, err error) {
	m.failOpen.WithLabelValues(name, callResult(err)).Inc()
}

// callResult returns the label of the result of a request to a webhook.
func callResult(err error) string {
	var timeout net.Error
	var status *hooks.StatusError
	switch {
	case err == nil:
		return "success"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout(),
		errors.As(err, &status) && status.Code == http.StatusGatewayTimeout:
		return "timeout"
	}
	return "error"
}
