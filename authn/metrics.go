package authn

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// TokenMetrics counts tokens, under kube-apiserver's names. A nil one counts
// nothing.
type TokenMetrics struct {
	legacyTokens, staleTokens, validTokens prometheus.Counter
	requests, fetches                      *prometheus.CounterVec
	duration                               *prometheus.HistogramVec
	active                                 *prometheus.GaugeVec
}

// NewTokenMetrics registers the metrics.
func NewTokenMetrics(reg *prometheus.Registry) (*TokenMetrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	status := []string{"status"}
	m := &TokenMetrics{
		legacyTokens: counter("serviceaccount_legacy_tokens_total", "Cumulative legacy service account tokens used"),
		staleTokens:  counter("serviceaccount_stale_tokens_total", "Cumulative stale projected service account tokens used"),
		validTokens:  counter("serviceaccount_valid_tokens_total", "Cumulative valid projected service account tokens used"),
		requests:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "authentication_token_cache_request_total"}, status),
		fetches:      prometheus.NewCounterVec(prometheus.CounterOpts{Name: "authentication_token_cache_fetch_total"}, status),
		duration:     prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "authentication_token_cache_request_duration_seconds"}, status),
		active:       prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "authentication_token_cache_active_fetch_count"}, status),
	}
	for _, c := range []prometheus.Collector{m.legacyTokens, m.staleTokens, m.validTokens, m.requests, m.fetches, m.duration, m.active} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

func (m *TokenMetrics) legacy() {
	if m != nil {
		m.legacyTokens.Inc()
	}
}

func (m *TokenMetrics) stale() {
	if m != nil {
		m.staleTokens.Inc()
	}
}

func (m *TokenMetrics) valid() {
	if m != nil {
		m.validTokens.Inc()
	}
}
