package authz

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
	"github.com/miniapiserver/miniapiserver/request"
)

// Metrics holds the authorization metrics, under kube-apiserver's names.
type Metrics struct {
	attempts  *prometheus.CounterVec
	duration  *prometheus.HistogramVec
	decisions *prometheus.CounterVec
	webhooks  *webhookMetrics
}

// NewMetrics creates the metrics and, unless reg is nil, registers them.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	var set metricset.Set
	return &Metrics{
		attempts: set.CounterVec("authorization_attempts_total",
			"[ALPHA] Counter of authorization attempts broken down by result. It can be either 'allowed', "+
				"'denied', 'no-opinion' or 'error'.", "result"),
		duration: set.NativeHistogramVec("authorization_duration_seconds",
			"[ALPHA] Authorization duration in seconds broken out by result.",
			prometheus.ExponentialBuckets(0.001, 2, 15), "result"),
		decisions: set.CounterVec("apiserver_authorization_decisions_total",
			"[ALPHA] Total number of terminal decisions made by an authorizer split by authorizer type, name, and decision.",
			"type", "name", "decision"),
		webhooks: newWebhookMetrics(&set),
	}, set.Register(reg)
}

// Attempts wraps the authorizer of the request chain to count its decisions and observe their
// duration.
func (m *Metrics) Attempts(a Authorizer) Authorizer {
	metrics := func(result string) attemptMetrics {
		return attemptMetrics{m.attempts.WithLabelValues(result), m.duration.WithLabelValues(result)}
	}
	return &attemptCounter{Authorizer: a, allowed: metrics("allowed"), denied: metrics("denied"),
		noOpinion: metrics("no-opinion"), failed: metrics("error")}
}

type attemptMetrics struct {
	total    prometheus.Counter
	duration prometheus.Observer
}

type attemptCounter struct {
	Authorizer
	allowed, denied, noOpinion, failed attemptMetrics
}

// Authorize implements Authorizer.
func (a *attemptCounter) Authorize(ctx context.Context, user *request.User, info *request.Info) (Decision, string, error) {
	start := time.Now()
	decision, reason, err := a.Authorizer.Authorize(ctx, user, info)
	result := &a.noOpinion
	switch {
	case decision == Allow:
		result = &a.allowed
	case err != nil:
		result = &a.failed
	case decision == Deny:
		result = &a.denied
	}
	result.total.Inc()
	result.duration.Observe(time.Since(start).Seconds())
	return decision, reason, err
}

// Decisions wraps one configured authorizer, identified by kind and name, to count its decisions.
func (m *Metrics) Decisions(a Authorizer, kind, name string) Authorizer {
	return &decisionCounter{Authorizer: a, allowed: m.decisions.WithLabelValues(kind, name, "allowed"),
		denied: m.decisions.WithLabelValues(kind, name, "denied")}
}

type decisionCounter struct {
	Authorizer
	allowed, denied prometheus.Counter
}

// Authorize implements Authorizer.
func (d *decisionCounter) Authorize(ctx context.Context, user *request.User, info *request.Info) (Decision, string, error) {
	decision, reason, err := d.Authorizer.Authorize(ctx, user, info)
	switch decision {
	case Allow:
		d.allowed.Inc()
	case Deny:
		d.denied.Inc()
	}
	return decision, reason, err
}

// RulesFor implements RuleResolver.
func (d *decisionCounter) RulesFor(ctx context.Context, user *request.User, namespace string) (Rules, error) {
	if r, ok := d.Authorizer.(RuleResolver); ok {
		return r.RulesFor(ctx, user, namespace)
	}
	return Rules{}, nil
}
