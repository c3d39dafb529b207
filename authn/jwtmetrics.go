package authn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/configmetrics"
	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// JWTMetrics measures the authentication of tokens of other issuers, and the fetches of their
// keys, under kube-apiserver's metric names. A nil *JWTMetrics counts nothing.
type JWTMetrics struct {
	// Reloads measures the configuration file.
	Reloads *configmetrics.Metrics

	server     string // hash of the server's id
	latency    *prometheus.HistogramVec
	lastFetch  *prometheus.GaugeVec
	lastKeySet *prometheus.GaugeVec

	mu sync.Mutex // guards the field below, and that lastKeySet agrees with it
	// keySets has the hash of the current keys of each issuer.
	keySets map[string]string
}

// NewJWTMetrics registers the metrics, with those of the fetches of keys only if keys is set. serverID identifies the
// server in them, as a hash.
func NewJWTMetrics(reg prometheus.Registerer, serverID string, keys bool) (*JWTMetrics, error) {
	reloads, err := configmetrics.New(reg, configmetrics.Options{Name: "authentication", ServerID: serverID, Stability: "BETA"})
	if err != nil {
		return nil, err
	}
	var set, keySets metricset.Set
	m := &JWTMetrics{
		Reloads: reloads, server: configmetrics.Hash(serverID), keySets: map[string]string{},
		latency: set.HistogramVec("apiserver_authentication_jwt_authenticator_latency_seconds",
			"[ALPHA] Latency of jwt authentication operations in seconds. This is the time spent "+
				"authenticating a token for cache miss only (i.e. when the token is not found in the cache).",
			[]float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}, "result", "jwt_issuer_hash"),
		lastFetch: keySets.GaugeVec("apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds",
			"[ALPHA] Timestamp of the last successful or failed JWKS fetch split by result, api server "+
				"identity and jwt issuer for the JWT authenticator.", "result", "jwt_issuer_hash", "apiserver_id_hash"),
		lastKeySet: keySets.GaugeVec("apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info",
			"[ALPHA] Information about the last JWKS fetched by the JWT authenticator with hash as label, "+
				"split by api server identity and jwt issuer.", "jwt_issuer_hash", "apiserver_id_hash", "hash"),
	}
	if keys {
		metricset.Add(&set, &keySets)
	}
	return m, set.Register(reg)
}

// resultOf returns the label of the result of an operation.
func resultOf(err error) string {
	if err != nil {
		return "failure"
	}
	return "success"
}

// reloads returns the metrics of the configuration file, which may be nil.
func (m *JWTMetrics) reloads() *configmetrics.Metrics {
	if m == nil {
		return nil
	}
	return m.Reloads
}

// authenticated observes the authentication of a token of an issuer.
func (m *JWTMetrics) authenticated(issuer string, took time.Duration, err error) {
	if m != nil {
		m.latency.WithLabelValues(resultOf(err), configmetrics.Hash(issuer)).Observe(took.Seconds())
	}
}

// fetched records a fetch of keys.
func (m *JWTMetrics) fetched(k *measuredKeys, keySet []byte, err error) {
	if m == nil {
		return
	}
	issuer := configmetrics.Hash(k.issuer)
	m.mu.Lock()
	defer m.mu.Unlock()
	if k.ended.Load() {
		return
	}
	if err == nil {
		m.lastKeySet.DeleteLabelValues(issuer, m.server, m.keySets[issuer])
		m.keySets[issuer] = configmetrics.Hash(string(keySet))
		m.lastKeySet.WithLabelValues(issuer, m.server, m.keySets[issuer]).Set(1)
	}
	m.lastFetch.WithLabelValues(resultOf(err), issuer, m.server).SetToCurrentTime()
}

// forget removes the fetches of keys of an issuer that is no longer configured.
func (m *JWTMetrics) forget(issuer string) {
	if m == nil {
		return
	}
	issuer = configmetrics.Hash(issuer)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lastKeySet.DeleteLabelValues(issuer, m.server, m.keySets[issuer])
	delete(m.keySets, issuer)
	for _, err := range []error{nil, io.EOF} {
		m.lastFetch.DeleteLabelValues(resultOf(err), issuer, m.server)
	}
}

// measuredKeys is a transport that records the fetches of an issuer's keys.
type measuredKeys struct {
	http.RoundTripper
	metrics *JWTMetrics
	issuer  string
	// url is the URL of the keys; nil until the issuer is discovered.
	url atomic.Pointer[string]
	// ended reports whether the authenticator is no longer used. A late fetch would show
	// an issuer again whose metrics were removed.
	ended atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (k *measuredKeys) RoundTrip(r *http.Request) (*http.Response, error) {
	url := k.url.Load()
	resp, err := k.RoundTripper.RoundTrip(r)
	if url == nil || r.URL.String() != *url {
		return resp, err
	}
	if err != nil {
		k.metrics.fetched(k, nil, err)
		return nil, err
	}
	data, err := io.ReadAll(resp.Body) // limitedResponses bounds it
	resp.Body.Close()
	if err != nil {
		k.metrics.fetched(k, nil, err)
		return nil, fmt.Errorf("read the keys of the issuer: %w", err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	k.metrics.fetched(k, data, checkKeySet(resp, data))
	return resp, nil
}

// checkKeySet returns an error if a response is not a key set.
func checkKeySet(resp *http.Response, data []byte) error {
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the issuer answered %s", resp.Status)
	}
	return json.Unmarshal(data, &jose.JSONWebKeySet{})
}
