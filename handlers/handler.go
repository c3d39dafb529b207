// Package handlers is HTTP in and out: it takes a request through the chain
// (who asks, may they, is there room), finds the resource, speaks the client's
// media type, and leaves what a verb means to registry.
//
// Reading order: handler.go has the chain as one list and what stands behind
// it; route.go finds resource and verb; read.go, write.go, patch.go and
// watch.go are the verbs; negotiate.go, decode.go, encode.go and stream.go the
// representations; errors.go is the one place where an error becomes a Status.
// discovery.go, openapi.go, health.go and metrics.go serve what is not a
// resource.
package handlers

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/mux"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/apf"
	"github.com/miniapiserver/miniapiserver/handlers/proxy"
	"github.com/miniapiserver/miniapiserver/quickjson"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Handler serves the API. It is safe for concurrent use.
type Handler struct {
	Config
	chain   http.Handler
	metrics *metrics
	slis    *slis
	codecs  sync.Map // *api.Version -> *codec
	shared  sharedSlots
	plans   quickjson.Plans

	conversions conversions
	schemas     openAPIDocuments
	parts       *partCache

	// listed are the fixed paths that the index at / has.
	listed []string
	// started is set when requests for resources are served.
	started atomic.Bool

	// ending is done when shutdown begins; end makes it so.
	ending context.Context
	end    context.CancelFunc
}

// New puts a Handler together.
func New(c Config) (*Handler, error) {
	if c.Catalogue == nil || c.Registry == nil || c.Authorizer == nil {
		return nil, errors.New("handlers: Catalogue, Registry and Authorizer must be set")
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = time.Minute
	}
	if c.MinRequestTimeout == 0 {
		c.MinRequestTimeout = 30 * time.Minute
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Inflight == nil {
		c.Inflight = apf.NewInflight(nil)
	}
	if c.Proxy == nil {
		c.Proxy = proxy.New(proxy.Config{})
	}
	h := &Handler{Config: c, parts: newPartCache(), shared: sharedSlots{storage.NewSlot(), storage.NewSlot()}}
	h.started.Store(!c.Starting)
	h.ending, h.end = context.WithCancel(context.Background())
	var err error
	if h.metrics, err = newMetrics(c.Metrics, c.Inflight); err != nil {
		return nil, err
	}
	if h.slis, err = newSLIs(); err != nil {
		return nil, err
	}
	h.chain = h.build()
	return h, nil
}

// build is the way of a request, in its order. What a step finds out it puts
// into the request's Scope, where the later ones read it.
func (h *Handler) build() http.Handler {
	steps := []func(http.Handler) http.Handler{
		h.identify,              // first, so that whatever follows can be logged under an id
		h.measure,               // outside recovery: a panic counts as the 500 that it becomes
		h.recoverPanics,         // before anything that could panic
		h.parse,                 // once, for all that ask what the request is about
		h.allowOrigins,          // before authentication: preflight requests carry no credential
		h.refuseForeignUpgrades, // before authentication, which would believe the browser's certificate
		h.refuseWhileStarting,   // before authentication and authorization, which read what is not loaded yet
		h.authenticate,          // who; before limits, which may depend on it
		h.impersonate,           // as whom; what follows is about the one that is acted as
		h.boundTime,             // what is allowed to begin must also end, and waits for a part of its time
		h.limit,                 // is there room; before authorization, which may be costly
		h.authorize,             // may they; nothing below is reached without
		h.refuseWhileEnding,     // long requests only begin while somebody would end them
	}
	var next http.Handler = h.routes()
	for i := len(steps) - 1; i >= 0; i-- {
		next = steps[i](next)
	}
	return next
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.chain.ServeHTTP(w, r) }

// Started ends the refusal of requests that Config.Starting begins.
func (h *Handler) Started() { h.started.Store(true) }

// BeginShutdown makes /readyz fail, ends all watches and lets no new ones
// begin. Other requests are served as before.
func (h *Handler) BeginShutdown() { h.end() }

// routes is what stands behind the chain: what other servers serve, resources by
// one map lookup, and the few other paths by mux.
func (h *Handler) routes() http.Handler {
	m := mux.NewRouter().SkipClean(true).UseEncodedPath()
	h.discoveryRoutes(m)
	h.openAPIRoutes(m)
	h.healthRoutes(m)
	h.issuerRoutes(m)
	h.metricsRoutes(m)
	h.flowControlRoutes(m)
	h.profilingRoutes(m)
	h.slis.routes(m)
	h.addToIndex("/metrics/slis")
	h.indexRoutes(m)
	m.NotFoundHandler = http.HandlerFunc(h.notFound)
	m.MethodNotAllowedHandler = http.HandlerFunc(h.methodNotAllowed)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := &request.From(r.Context()).Info
		if remote := h.Aggregation.At(r.URL.Path); remote != nil {
			if !isForwardable(info) {
				h.notFound(w, r)
				return
			}
			h.serveElsewhere(w, r, remote)
			return
		}
		if info.IsResource {
			h.serveResource(w, r, info)
			return
		}
		m.ServeHTTP(w, r)
	})
}
