package outbound

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// Metrics measures the requests of clients, with the names and labels of client-go. A nil *Metrics
// measures nothing.
//
// Not all clients are measured: those of kubelets, pods, services and aggregated servers send
// requests of users, to hosts of their choice, and have no such metrics in kube-apiserver either.
type Metrics struct {
	requests                *prometheus.CounterVec
	duration, sent, fetched *prometheus.HistogramVec
	resolution              *prometheus.HistogramVec // by host
	created                 *prometheus.CounterVec   // by result
	cached                  prometheus.Gauge
	set                     metricset.Set // has the metrics above

	mu sync.Mutex // guards the fields below
	// used has the number of the last use of each host that has series.
	used map[string]uint64
	uses uint64
}

// maxHosts is the maximum number of hosts with series. A user who configures webhooks chooses
// their hosts, and could otherwise fill the memory with series of new hosts. Room for a new host is made by
// the end of the series of the least recently used host.
const maxHosts = 200

// use makes room for the series of a host.
func (m *Metrics) use(host string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.uses++
	if _, ok := m.used[host]; !ok && len(m.used) >= maxHosts {
		oldest, last := "", m.uses
		for other, at := range m.used {
			if at < last {
				oldest, last = other, at
			}
		}
		delete(m.used, oldest)
		m.set.DeletePartialMatch(prometheus.Labels{"host": oldest})
		m.resolution.DeleteLabelValues(nameOf(oldest))
	}
	m.used[host] = m.uses
}

// NewMetrics returns Metrics that are registered with reg.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	sizes := []float64{64, 256, 512, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20}
	m := &Metrics{used: map[string]uint64{}}
	m.requests = m.set.CounterVec("rest_client_requests_total",
		"[ALPHA] Number of requests of the server to other servers, such as webhooks, by code, method "+
			"and host. The code of a request without a response is <error>.", "code", "method", "host")
	m.duration = m.set.HistogramVec("rest_client_request_duration_seconds",
		"[ALPHA] Time until the response of another server was read, by verb and host, in seconds.",
		[]float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60}, "verb", "host")
	m.sent = m.set.HistogramVec("rest_client_request_size_bytes",
		"[ALPHA] Size of the bodies of requests to other servers by verb and host, in bytes.", sizes, "verb", "host")
	m.fetched = m.set.HistogramVec("rest_client_response_size_bytes",
		"[ALPHA] Size of the bodies of responses of other servers by verb and host, in bytes.", sizes, "verb", "host")
	m.resolution = m.set.HistogramVec("rest_client_dns_resolution_duration_seconds",
		"[ALPHA] Time in which the name of another server was resolved, by host, in seconds.",
		[]float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30}, "host")
	m.created = m.set.CounterVec("rest_client_transport_create_calls_total",
		"[ALPHA] Number of times that a transport to another server was needed: found in the cache "+
			"(hit), made for the cache (miss), or made for one client only (uncacheable).", "result")
	m.cached = m.set.Gauge("rest_client_transport_cache_entries",
		"[ALPHA] Number of cached transports, which lead to webhooks.")
	return m, m.set.Register(reg)
}

// Results of getting a transport, as client-go names them.
const (
	transportFound       = "hit"
	transportCached      = "miss"
	transportUncacheable = "uncacheable"
)

// InstrumentTransport returns a transport whose requests are measured. It is that of one client.
func (m *Metrics) InstrumentTransport(transport http.RoundTripper) http.RoundTripper {
	if m == nil {
		return transport
	}
	m.created.WithLabelValues(transportUncacheable).Inc()
	return &measuredTransport{transport, m}
}

// InstrumentCachedTransport is InstrumentTransport for a transport that a cache keeps until it calls ForgetTransport.
func (m *Metrics) InstrumentCachedTransport(transport http.RoundTripper) http.RoundTripper {
	if m == nil {
		return transport
	}
	m.created.WithLabelValues(transportCached).Inc()
	m.cached.Inc()
	return &measuredTransport{transport, m}
}

// ReuseTransport counts the use of a cached transport.
func (m *Metrics) ReuseTransport() {
	if m != nil {
		m.created.WithLabelValues(transportFound).Inc()
	}
}

// ForgetTransport counts a transport that a cache no longer keeps.
func (m *Metrics) ForgetTransport() {
	if m != nil {
		m.cached.Dec()
	}
}

// nameOf returns the name in the host of a URL, which may have a port.
func nameOf(host string) string { return (&url.URL{Host: host}).Hostname() }

// traceResolution returns a context with which a connection measures the resolution of the name of its host.
func (m *Metrics) traceResolution(ctx context.Context) context.Context {
	var mu sync.Mutex // a connection may outlive its request
	var start time.Time
	var name string
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart: func(i httptrace.DNSStartInfo) {
			mu.Lock()
			defer mu.Unlock()
			start, name = time.Now(), i.Host
		},
		DNSDone: func(httptrace.DNSDoneInfo) {
			mu.Lock()
			defer mu.Unlock()
			m.resolution.WithLabelValues(name).Observe(time.Since(start).Seconds())
		},
	})
}

// codeOfError is the code of requests without a response.
const codeOfError = "<error>"

type measuredTransport struct {
	next http.RoundTripper
	m    *Metrics
}

// RoundTrip implements http.RoundTripper.
func (t *measuredTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	start, host := time.Now(), r.URL.Host
	t.m.use(host)
	if r.ContentLength >= 0 {
		t.m.sent.WithLabelValues(r.Method, host).Observe(float64(r.ContentLength))
	}
	duration := t.m.duration.WithLabelValues(r.Method, host)
	w, err := t.next.RoundTrip(r.WithContext(t.m.traceResolution(r.Context())))
	t.m.use(host) // others may have taken its place meanwhile
	if err != nil {
		t.m.requests.WithLabelValues(codeOfError, r.Method, host).Inc()
		duration.Observe(time.Since(start).Seconds())
		return nil, err
	}
	t.m.requests.WithLabelValues(strconv.Itoa(w.StatusCode), r.Method, host).Inc()
	size := t.m.fetched.WithLabelValues(r.Method, host)
	w.Body = &measuredBody{ReadCloser: w.Body, end: func(n int64) {
		duration.Observe(time.Since(start).Seconds())
		size.Observe(float64(n))
	}}
	return w, nil
}

// measuredBody calls end once with its length, when it was read or is closed.
type measuredBody struct {
	io.ReadCloser
	length int64
	once   sync.Once
	end    func(length int64)
}

// Read implements io.Reader.
func (b *measuredBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.length += int64(n)
	if errors.Is(err, io.EOF) {
		b.once.Do(func() { b.end(b.length) })
	}
	return n, err
}

// Close implements io.Closer.
func (b *measuredBody) Close() error {
	b.once.Do(func() { b.end(b.length) })
	return b.ReadCloser.Close()
}
