package hooks

import (
	"bytes"
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

	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/internal/outbound"
	"github.com/miniapiserver/miniapiserver/internal/peercert"
	"github.com/miniapiserver/miniapiserver/registry/services"
)

// Bounds of what is kept and read.
const (
	maxClients = 200
	userAgent  = "kube-apiserver-admission"
)

// Config is what Clients are made from.
type Config struct {
	// Users says by what the server is known to hooks.
	Credentials Credentials
	Resolver    *services.Resolver
	// Dial connects to what services stand for; nil means net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Certificates counts those that hooks show; nil counts none.
	Certificates *peercert.Counters
}

// Clients keeps a client per endpoint, the last ones that were used.
type Clients struct {
	Config

	// lifetime ends dials that nobody waits for any more.
	lifetime context.Context
	end      context.CancelFunc

	mu          sync.Mutex
	clients     map[endpointKey]*Client
	oldestFirst []endpointKey // the least recently made first
}

// endpointKey is what a client is kept by.
type endpointKey struct {
	url, ca string
	service bool
}

// New makes clients. Close ends them.
func New(config Config) *Clients {
	if config.Dial == nil {
		config.Dial = new(net.Dialer).DialContext
	}
	c := &Clients{Config: config, clients: map[endpointKey]*Client{}}
	c.lifetime, c.end = context.WithCancel(context.Background())
	return c
}

// Close ends all connections that are not in use, and all that are being made.
func (c *Clients) Close() {
	c.end()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, known := range c.clients {
		known.transport.CloseIdleConnections()
	}
	clear(c.clients)
	c.oldestFirst = nil
}

// Client calls one endpoint.
type Client struct {
	http      *http.Client
	transport *http.Transport
	user      *credential
}

// ForEndpoint is the client of an endpoint.
func (c *Clients) ForEndpoint(e *Endpoint) (*Client, error) {
	if e.Err != nil {
		return nil, e.Err
	}
	key := endpointKey{e.URL, e.CA, e.Service != nil}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.clients[key]; known != nil {
		return known, nil
	}
	made, err := c.make(e)
	if err != nil {
		return nil, err
	}
	if len(c.oldestFirst) >= maxClients {
		c.clients[c.oldestFirst[0]].transport.CloseIdleConnections()
		delete(c.clients, c.oldestFirst[0])
		c.oldestFirst = c.oldestFirst[1:]
	}
	c.clients[key], c.oldestFirst = made, append(c.oldestFirst, key)
	return made, nil
}

func (c *Clients) make(e *Endpoint) (*Client, error) {
	u := c.Credentials.find(e.Host)
	config := &tls.Config{}
	if u.certificate != nil {
		config.Certificates = []tls.Certificate{*u.certificate}
	}
	if e.CA != "" {
		pool, err := services.ParseCABundle([]byte(e.CA))
		if err != nil {
			return nil, err
		}
		config.RootCAs = pool
	}
	if e.Service != nil {
		config.ServerName = e.Service.ServerName()
	}
	t := outbound.Transport(outbound.Config{TLS: config, Dial: c.dial(e), UseProxy: e.Service == nil})
	return &Client{http: outbound.Client(c.Certificates.InstrumentTransport(t)), transport: t, user: u}, nil
}

// dial connects, to what a service stands for if it is one.
func (c *Clients) dial(e *Endpoint) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.lifetime, cancel)()
		if e.Service != nil && address == e.Host {
			leads, err := c.Resolver.Resolve(ctx, *e.Service)
			if err != nil {
				return nil, err
			}
			return c.Dial(ctx, network, leads.Dial)
		}
		var d net.Dialer
		return d.DialContext(ctx, network, address)
	}
}

// Post sends a question and returns the body of the answer, of which it reads most
// bytes. An answer that reports a failure is returned as a StatusError.
func (c *Client) Post(ctx context.Context, e *Endpoint, body []byte, most int64) ([]byte, error) {
	target := e.URL
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); left > 0 {
			target += "?timeout=" + ((left + time.Second - 1) / time.Second * time.Second).String()
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json, */*")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", userAgent)
	if err := c.user.authenticate(r); err != nil {
		return nil, err
	}
	w, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer w.Body.Close()
	if w.StatusCode < http.StatusOK || w.StatusCode > http.StatusPartialContent {
		return nil, unsuccessful(w)
	}
	data, err := outbound.ReadAll(w.Body, most)
	switch {
	case errors.Is(err, outbound.ErrTooLarge):
		return nil, fmt.Errorf("the answer is larger than %d bytes", most)
	case err != nil:
		return nil, fmt.Errorf("unexpected error when reading response body. Please retry. Original error: %w", err)
	case len(data) == 0:
		return nil, fmt.Errorf("0-length response with status code: %d and content type: %s", w.StatusCode, w.Header.Get("Content-Type"))
	}
	if err := bounds.WebhookResponse(data); err != nil {
		return nil, fmt.Errorf("the answer cannot be decoded: %w", err)
	}
	return data, nil
}

// unsuccessful returns the error for an answer that reports a failure: its code
// and the time after which to try again. The body is withheld, unlike in
// kube-apiserver. The author of a webhook configuration chooses the address, and
// must not learn by it what internal servers answer.
func unsuccessful(w *http.Response) error {
	after, _ := strconv.Atoi(w.Header.Get("Retry-After"))
	return apierrors.NewGenericServerResponse(w.StatusCode, http.MethodPost, schema.GroupResource{}, "", "unknown", after, true)
}
