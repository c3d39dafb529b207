package authz

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/request"
)

// Metrics are kube-apiserver's of authorization, by its names.
type Metrics struct {
	attempts  *prometheus.CounterVec
	duration  *prometheus.HistogramVec
	decisions *prometheus.CounterVec
}

// NewMetrics registers the metrics; reg may be nil.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "authorization_attempts_total",
			Help: "Counter of authorization attempts broken down by result. It can be either 'allowed', 'denied', 'no-opinion' or 'error'."}, []string{"result"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "authorization_duration_seconds", Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
			Help: "Authorization duration in seconds broken out by result."}, []string{"result"}),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_authorization_decisions_total",
			Help: "Total number of terminal decisions made by an authorizer split by authorizer type, name, and decision."}, []string{"type", "name", "decision"}),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.attempts, m.duration, m.decisions} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of authorization: %w", err)
		}
	}
	return m, nil
}

// Attempts counts what is asked of a for requests, and how long it takes.
func (m *Metrics) Attempts(a Authorizer) Authorizer {
	of := func(result string) attempt {
		return attempt{m.attempts.WithLabelValues(result), m.duration.WithLabelValues(result)}
	}
	return &attempts{Authorizer: a, allowed: of("allowed"), denied: of("denied"), noOpinion: of("no-opinion"), failed: of("error")}
}

type attempt struct {
	total    prometheus.Counter
	duration prometheus.Observer
}

type attempts struct {
	Authorizer
	allowed, denied, noOpinion, failed attempt
}

// Authorize implements Authorizer.
func (a *attempts) Authorize(ctx context.Context, user *request.User, info *request.Info) (Decision, string, error) {
	start := time.Now()
	decision, reason, err := a.Authorizer.Authorize(ctx, user, info)
	to := &a.noOpinion
	switch {
	case decision == Allow:
		to = &a.allowed
	case err != nil:
		to = &a.failed
	case decision == Deny:
		to = &a.denied
	}
	to.total.Inc()
	to.duration.Observe(time.Since(start).Seconds())
	return decision, reason, err
}

// Decisions counts what an authorizer of a type and name allows and denies.
func (m *Metrics) Decisions(a Authorizer, kind, name string) Authorizer {
	return &decisions{Authorizer: a, allowed: m.decisions.WithLabelValues(kind, name, "allowed"), denied: m.decisions.WithLabelValues(kind, name, "denied")}
}

type decisions struct {
	Authorizer
	allowed, denied prometheus.Counter
}

// Authorize implements Authorizer.
func (d *decisions) Authorize(ctx context.Context, user *request.User, info *request.Info) (Decision, string, error) {
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
func (d *decisions) RulesFor(ctx context.Context, user *request.User, namespace string) (Rules, error) {
	if r, ok := d.Authorizer.(RuleResolver); ok {
		return r.RulesFor(ctx, user, namespace)
	}
	return Rules{}, nil
}
