// Package outbound creates the HTTP clients with which the server calls other servers:
// webhooks, token issuers, aggregated API servers, kubelets, and the pods and services that
// clients reach through the server. All clients have the same limits, and none follows a
// redirect unless its caller wants that. No other package creates an http.Client or an
// http.Transport, which a test of internal/layering checks.
//
// Package peercert counts outdated certificates of these servers, and package hooks has the
// clients of webhooks.
package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/propagation"
)

// Limits of handshakes and idle connections, equal to kube-apiserver's.
const (
	handshakeTimeout    = 10 * time.Second
	idleTimeout         = 90 * time.Second
	maxIdleConnsPerHost = 25
)

// Config describes the connections of a transport.
type Config struct {
	// TLS configures certificates and their verification; nil means the system's roots.
	// Transport raises its MinVersion to TLS 1.2.
	TLS *tls.Config
	// Dial opens connections; nil means a net.Dialer that Guard restricts.
	Dial DialFunc
	// Guard restricts the addresses of connections if Dial is nil.
	Guard Guard
	// HTTP2 permits HTTP/2. HTTP/1.1 spreads connections over the instances behind an
	// address, and can switch protocols.
	HTTP2 bool
	// UseProxy permits the proxies that environment variables name.
	UseProxy bool
	// Verbatim leaves compressed responses as they are, for callers that forward them.
	Verbatim bool
}

// Transport returns a new transport.
func Transport(c Config) *http.Transport {
	config := c.TLS.Clone()
	if config == nil {
		config = &tls.Config{}
	}
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(c.HTTP2)
	if c.Dial == nil {
		c.Dial = c.Guard.Dialer(net.Dialer{})
	}
	t := &http.Transport{
		DialContext: c.Dial, TLSClientConfig: config, TLSHandshakeTimeout: handshakeTimeout, Protocols: &protocols,
		IdleConnTimeout: idleTimeout, MaxIdleConnsPerHost: maxIdleConnsPerHost, DisableCompression: c.Verbatim,
	}
	if c.UseProxy {
		t.Proxy = http.ProxyFromEnvironment
	}
	return t
}

// Client returns a client that returns redirects instead of following them.
func Client(transport http.RoundTripper) *http.Client {
	return &http.Client{Transport: transport, CheckRedirect: NoRedirect}
}

// NoRedirect is a CheckRedirect function that makes a client return redirects. Otherwise
// the other server could direct this one, with its credentials, to other addresses.
func NoRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// InjectTrace adds the headers of W3C Trace Context by which another server continues the trace
// of ctx. It adds none if ctx has no OpenTelemetry span.
func InjectTrace(ctx context.Context, header http.Header) {
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(header))
}

// ErrTooLarge is the error of ReadAll for a body of more than limit bytes.
var ErrTooLarge = errors.New("the response is too large")

// ReadAll reads a body of at most limit bytes.
func ReadAll(body io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) > limit:
		return nil, ErrTooLarge
	}
	return data, nil
}
