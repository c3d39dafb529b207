package hooks

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/lru"

	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/internal/outbound"
	"github.com/miniapiserver/miniapiserver/internal/peercert"
)

const (
	// maxClients is the maximum number of cached clients.
	maxClients = 200
	userAgent  = "kube-apiserver-admission"
)

// Config configures Clients.
type Config struct {
	// Credentials are the server's credentials for webhooks, by host.
	Credentials Credentials
	Resolver    Resolver
	// Dial opens connections to services; nil means a net.Dialer.
	Dial outbound.DialFunc
	// Guard restricts the addresses of all connections.
	Guard outbound.Guard
	// ResolveRequests resolves a service for each request, which spreads requests over the endpoints
	// of the service. Otherwise it is resolved for each connection, whose endpoint then serves
	// all requests.
	ResolveRequests bool
	// Certificates counts outdated certificates of webhooks; nil counts none.
	Certificates *peercert.Counters
	// Metrics measures the requests; nil measures none.
	Metrics *outbound.Metrics
}

// Resolver returns addresses of services.
type Resolver interface {
	Resolve(context.Context, outbound.Service) (outbound.Address, error)
}

// Clients caches a client for each endpoint, up to maxClients.
type Clients struct {
	Config

	// lifetime ends all dials when Clients are closed.
	lifetime context.Context
	end      context.CancelFunc

	mu      sync.Mutex // held while a client is looked up and made
	clients *lru.Cache // *Client by endpointKey
}

// endpointKey is the cache key of a client.
type endpointKey struct {
	url, ca string
	service bool
}

// New returns Clients, which the caller must close.
func New(config Config) *Clients {
	if config.Dial == nil {
		config.Dial = config.Guard.Dialer(net.Dialer{})
	} else {
		config.Dial = config.Guard.Restrict(config.Dial)
	}
	c := &Clients{Config: config}
	c.clients = lru.NewWithEvictionFunc(maxClients, func(_ lru.Key, client any) {
		client.(*Client).transport.CloseIdleConnections()
		c.Metrics.ForgetTransport()
	})
	c.lifetime, c.end = context.WithCancel(context.Background())
	return c
}

// Close closes idle connections and ends dials.
func (c *Clients) Close() {
	c.end()
	c.clients.Clear()
}

// Client sends requests to one endpoint.
type Client struct {
	http      *http.Client
	transport *http.Transport
	// user returns the current credential for the endpoint.
	user func() *credential
}

// ForEndpoint returns the client of an endpoint.
func (c *Clients) ForEndpoint(e *Endpoint) (*Client, error) {
	if e.Err != nil {
		return nil, e.Err
	}
	key := endpointKey{e.URL, e.CA, e.Service != nil}
	c.mu.Lock()
	defer c.mu.Unlock()
	if client, ok := c.clients.Get(key); ok {
		c.Metrics.ReuseTransport()
		return client.(*Client), nil
	}
	created, err := c.make(e)
	if err != nil {
		return nil, err
	}
	c.clients.Add(key, created)
	return created, nil
}

func (c *Clients) make(e *Endpoint) (*Client, error) {
	user := func() *credential { return c.Credentials.find(e.Host) }
	config := &tls.Config{GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if u := user(); u.certificate != nil {
			return u.certificate, nil
		}
		return &tls.Certificate{}, nil
	}}
	if e.CA != "" {
		pool, err := outbound.ParseCABundle([]byte(e.CA))
		if err != nil {
			return nil, err
		}
		config.RootCAs = pool
	}
	if e.Service != nil {
		config.ServerName = e.Service.ServerName()
	}
	t := outbound.Transport(outbound.Config{TLS: config, Dial: c.dial(e), UseProxy: e.Service == nil})
	instrumented := c.Certificates.InstrumentTransport(t)
	if e.Service != nil && c.ResolveRequests {
		instrumented = &resolvingTransport{base: instrumented, resolver: c.Resolver, service: *e.Service}
	}
	return &Client{http: outbound.Client(c.Metrics.InstrumentCachedTransport(instrumented)), transport: t, user: user}, nil
}

// resolvingTransport sends each request to an address of a service, which the connection pool
// of base distinguishes.
type resolvingTransport struct {
	base     http.RoundTripper
	resolver Resolver
	service  outbound.Service
}

// RoundTrip implements http.RoundTripper.
func (t *resolvingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	leads, err := t.resolver.Resolve(r.Context(), t.service)
	if err != nil {
		return nil, err
	}
	resolved := r.Clone(r.Context())
	resolved.Host, resolved.URL.Host = r.URL.Host, leads.Dial
	return t.base.RoundTrip(resolved)
}

// dial returns a function that opens connections. If the endpoint is a service, it resolves the
// name of the service; the addresses of resolved requests are in the cluster, too.
func (c *Clients) dial(e *Endpoint) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.lifetime, cancel)()
		switch {
		case e.Service == nil:
			return c.Guard.Dialer(net.Dialer{})(ctx, network, address)
		case address == e.Host:
			leads, err := c.Resolver.Resolve(ctx, *e.Service)
			if err != nil {
				return nil, err
			}
			address = leads.Dial
		}
		return c.Dial(ctx, network, address)
	}
}

// Post sends a request and returns the body of the response, of at most maxBytes bytes. An
// error response is returned as a StatusError.
func (c *Client) Post(ctx context.Context, e *Endpoint, body []byte, maxBytes int64) ([]byte, error) {
	target := e.URL
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); left > 0 {
			target += "?timeout=" + ((left + time.Second - 1) / time.Second * time.Second).String()
		}
	}
	w, err := post(ctx, c.http, target, body, func(r *http.Request) error {
		r.Header.Set("User-Agent", userAgent)
		return c.user().authenticate(r)
	})
	if err != nil {
		return nil, err
	}
	defer w.Body.Close()
	if w.StatusCode < http.StatusOK || w.StatusCode > http.StatusPartialContent {
		return nil, unsuccessful(w)
	}
	data, err := outbound.ReadAll(w.Body, maxBytes)
	switch {
	case errors.Is(err, outbound.ErrTooLarge):
		return nil, fmt.Errorf("the response is larger than %d bytes", maxBytes)
	case err != nil:
		return nil, fmt.Errorf("unexpected error when reading response body. Please retry. Original error: %w", err)
	case len(data) == 0:
		return nil, fmt.Errorf("0-length response with status code: %d and content type: %s", w.StatusCode, w.Header.Get("Content-Type"))
	}
	if err := bounds.WebhookResponse(data); err != nil {
		return nil, fmt.Errorf("the response cannot be decoded: %w", err)
	}
	return data, nil
}

// unsuccessful returns the error for an error response, with its code and Retry-After.
// Unlike kube-apiserver's, it does not contain the body: the author of a webhook
// configuration chooses the address, and must not be able to read responses of internal
// servers.
func unsuccessful(w *http.Response) error {
	after, _ := strconv.Atoi(w.Header.Get("Retry-After"))
	return apierrors.NewGenericServerResponse(w.StatusCode, http.MethodPost, schema.GroupResource{}, "", "unknown", after, true)
}
