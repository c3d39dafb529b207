package authz

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/hooks"
	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// webhookMetrics are the metrics of webhooks and of their match conditions.
type webhookMetrics struct {
	evaluations, failOpen *prometheus.CounterVec   // by name and result
	duration              *prometheus.HistogramVec // by name and result
	exclusions, errors    *prometheus.CounterVec   // by type and name
	matching              *prometheus.HistogramVec // by type and name
}

func newWebhookMetrics(set *metricset.Set) *webhookMetrics {
	return &webhookMetrics{
		evaluations: set.CounterVec("apiserver_authorization_webhook_evaluations_total",
			"[ALPHA] Round-trips to authorization webhooks.", "name", "result"),
		failOpen: set.CounterVec("apiserver_authorization_webhook_evaluations_fail_open_total",
			"[ALPHA] NoOpinion results due to webhook timeout or error.", "name", "result"),
		duration: set.HistogramVec("apiserver_authorization_webhook_duration_seconds",
			"[ALPHA] Request latency in seconds.", nil, "name", "result"),
		exclusions: set.CounterVec("apiserver_authorization_match_condition_exclusions_total",
			"[ALPHA] Total number of exclusions when an authorization webhook is skipped because match conditions exclude it.",
			"type", "name"),
		errors: set.CounterVec("apiserver_authorization_match_condition_evaluation_errors_total",
			"[ALPHA] Total number of errors when an authorization webhook encounters a match condition error "+
				"split by authorizer type and name.", "type", "name"),
		matching: set.HistogramVec("apiserver_authorization_match_condition_evaluation_seconds",
			"[ALPHA] Authorization match condition evaluation time in seconds, split by authorizer type and name.",
			[]float64{0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25}, "type", "name"),
	}
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
