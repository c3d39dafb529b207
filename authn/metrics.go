package authn

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// TokenMetrics counts authenticated credentials under kube-apiserver's metric names. All methods
// accept a nil receiver.
type TokenMetrics struct {
	legacyTokens, staleTokens, validTokens prometheus.Counter
	legacyUses                             [secretTokens]prometheus.Counter
	requests, fetches                      *prometheus.CounterVec
	duration                               *prometheus.HistogramVec
	active                                 *prometheus.GaugeVec
	certificates                           prometheus.Histogram
}

// secretToken is a kind of token in a Secret.
type secretToken int

const (
	autoToken    secretToken = iota // the service account lists its Secret
	invalidToken                    // its Secret is marked as invalid
	manualToken                     // a user created its Secret
	secretTokens
)

// NewTokenMetrics registers the metrics.
func NewTokenMetrics(reg prometheus.Registerer) (*TokenMetrics, error) {
	var set metricset.Set
	return &TokenMetrics{
		legacyTokens: set.Counter("serviceaccount_legacy_tokens_total",
			"[BETA] Cumulative legacy service account tokens used"),
		staleTokens: set.Counter("serviceaccount_stale_tokens_total",
			"[BETA] Cumulative stale projected service account tokens used"),
		validTokens: set.Counter("serviceaccount_valid_tokens_total",
			"[BETA] Cumulative valid projected service account tokens used"),
		legacyUses: [secretTokens]prometheus.Counter{
			autoToken: set.Counter("serviceaccount_legacy_auto_token_uses_total",
				"[ALPHA] Number of uses of tokens in Secrets that were generated for a service account."),
			invalidToken: set.Counter("serviceaccount_invalid_legacy_auto_token_uses_total",
				"[ALPHA] Number of uses of tokens in Secrets that are marked as invalid."),
			manualToken: set.Counter("serviceaccount_legacy_manual_token_uses_total",
				"[ALPHA] Number of uses of tokens in Secrets that a user created."),
		},
		requests: set.CounterVec("authentication_token_cache_request_total",
			"[ALPHA] Number of lookups in the cache of token reviews by result.", "status"),
		fetches: set.CounterVec("authentication_token_cache_fetch_total",
			"[ALPHA] Number of token reviews that the cache requested, by result.", "status"),
		duration: set.HistogramVec("authentication_token_cache_request_duration_seconds",
			"[ALPHA] Duration of lookups in the cache of token reviews, including the review, in seconds.", nil, "status"),
		active: set.GaugeVec("authentication_token_cache_active_fetch_count",
			"[ALPHA] Number of token reviews in flight, and of requests that wait for one.", "status"),
		certificates: set.Histogram("apiserver_client_certificate_expiration_seconds",
			"[ALPHA] Distribution of the remaining lifetime on the certificate used to authenticate a request.",
			[]float64{0, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 345600, 604800, 2592000, 7776000, 15552000, 31104000}),
	}, set.Register(reg)
}

// certificate observes the remaining lifetime of a client certificate.
func (m *TokenMetrics) certificate(left time.Duration) {
	if m != nil {
		m.certificates.Observe(left.Seconds())
	}
}

func (m *TokenMetrics) legacy() {
	if m != nil {
		m.legacyTokens.Inc()
	}
}

// secretTokenUsed counts the use of a token in a Secret.
func (m *TokenMetrics) secretTokenUsed(kind secretToken) {
	if m != nil {
		m.legacyUses[kind].Inc()
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

// cacheRequest counts a lookup in the token cache.
func (m *TokenMetrics) cacheRequest(hit bool, took time.Duration) {
	if m == nil {
		return
	}
	status := "miss"
	if hit {
		status = "hit"
	}
	m.requests.WithLabelValues(status).Inc()
	m.duration.WithLabelValues(status).Observe(took.Seconds())
}

// cacheFetch counts a completed request of the cache to the authenticator behind it.
func (m *TokenMetrics) cacheFetch(ok bool) {
	if m == nil {
		return
	}
	status := "error"
	if ok {
		status = "ok"
	}
	m.fetches.WithLabelValues(status).Inc()
}

// inFlight changes the number of fetches in progress by n.
func (m *TokenMetrics) inFlight(n float64) {
	if m != nil {
		m.active.WithLabelValues("in_flight").Add(n)
	}
}

// blocked changes the number of requests that wait for a fetch, their own or another's, by n.
func (m *TokenMetrics) blocked(n float64) {
	if m != nil {
		m.active.WithLabelValues("blocked").Add(n)
	}
}
