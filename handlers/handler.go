// Package handlers serves the Kubernetes API over HTTP. It takes a request through the
// handler chain (authentication, limits, authorization, ...), finds the resource, and
// calls registry for the verb. Package representation below it decodes bodies and encodes
// responses; package description serves discovery, OpenAPI, health and metrics; package
// proxy connects clients to kubelets, pods and services.
//
// Reading order: handler.go lists the steps of the chain and the routes behind it;
// route.go finds resource and verb; read.go, write.go, patch.go and watch.go are the
// verbs.
package handlers

import (
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/apf"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/handlers/description"
	"github.com/miniapiserver/miniapiserver/handlers/proxy"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Handler serves the API. It is safe for concurrent use.
type Handler struct {
	Config
	chain   http.HandlerFunc
	metrics *metrics
	codecs  *representation.Codecs

	responder   representation.Responder
	description *description.Handler

	// started is true once requests for resources are served.
	started atomic.Bool

	shutdown *shutdown
	// slow is the duration from which on the steps of a request are logged.
	slow time.Duration
}

// New returns a Handler.
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
	if c.Gates == nil {
		c.Gates = features.Default()
	}
	cbor := c.Gates.Enabled(features.CBORServingAndStorage)
	h := &Handler{
		Config: c, slow: slowRequest, shutdown: newShutdown(), codecs: representation.NewCodecs(c.Catalogue, c.Now),
		responder: representation.Responder{Logger: c.Logger, CBOR: cbor},
	}
	h.codecs.CBOR = cbor
	h.started.Store(!c.Starting)
	var err error
	if h.metrics, err = newMetrics(c.Metrics, c.Inflight); err != nil {
		return nil, err
	}
	if h.description, err = description.New(description.Config{
		Catalogue: c.Catalogue, Aggregation: c.Aggregation, ForwardToRemote: h.forwardToRemote, Issuer: c.Issuer,
		Checks: c.Checks, LivezGracePeriod: c.LivezGracePeriod, ShuttingDown: h.shutdown.begun,
		ExternalAddress: c.ExternalAddress, Gates: c.Gates, Version: c.Version, Limiter: c.Limiter,
		Metrics: c.Metrics, SLIs: c.SLIs, Flags: c.Flags, ReportDeprecated: h.reportDeprecatedPage,
		NoProfiling: c.NoProfiling, SetVerbosity: c.SetVerbosity, Logger: c.Logger, Now: time.Now,
	}); err != nil {
		return nil, err
	}
	h.chain = h.buildChain()
	return h, nil
}

// step is a step of the chain. It serves a request by calling next, or refuses it.
type step = func(next http.HandlerFunc) http.HandlerFunc

// steps lists the chain in the order in which a request goes through it. A step puts
// what it finds out into the request's Scope, where later steps read it.
func (h *Handler) steps() []step {
	return []step{
		h.identify,              // first, so that all later steps can log the request's id
		h.readdress,             // before the path is looked at
		h.measure,               // outside recovery: a panic counts as the 500 that it becomes
		h.recoverPanics,         // before anything that could panic
		h.parse,                 // once, for all later steps
		h.allowOrigins,          // before authentication: preflight requests carry no credential
		h.refuseForeignUpgrades, // before authentication, which would accept the browser's certificate
		h.refuseAfterDelay,      // before authentication, to leave the connection as soon as possible
		h.refuseWhileStarting,   // before authentication and authorization, which read the caches
		h.record,                // before authentication, whose refusals are recorded too
		h.accounted("authentication", h.authenticate), // before limits, which depend on the user
		h.trace,                                  // after authentication: only trusted clients influence what is sampled
		h.traced("audit", h.audit),               // before impersonation: the events contain both users, and refusals
		h.traced("impersonation", h.impersonate), // before limits too: all later steps see the impersonated user
		h.boundTime,                              // before limits: a request waits for a part of its time
		h.traced("priorityandfairness", h.limit), // before authorization, which may be costly
		h.traced("authorization", h.authorize),   // no request reaches a resource without it
		h.misbehave,                              // after authorization: a fault gives nobody an answer who may not have one
		h.refuseDuringShutdown,                   // long requests begin only while BeginShutdown would end them
	}
}

// buildChain puts the steps in front of the routes. Steps call each other as functions
// rather than as http.Handlers, which would double the frames of every request.
func (h *Handler) buildChain() http.HandlerFunc {
	next := h.routes()
	for _, step := range slices.Backward(h.steps()) {
		next = step(next)
	}
	return next
}

// Forget drops what the Handler caches about a deleted resource.
func (h *Handler) Forget(res *api.Resource) { h.codecs.Forget(res) }

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.chain(w, r) }

// Started ends the refusal of requests that Config.Starting begins.
func (h *Handler) Started() { h.started.Store(true) }
