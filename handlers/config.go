package handlers

import (
	"context"
	"log/slog"
	"regexp"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/version"

	"github.com/miniapiserver/miniapiserver/aggregation"
	"github.com/miniapiserver/miniapiserver/apf"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/handlers/proxy"
	"github.com/miniapiserver/miniapiserver/registry"
)

// Config is what the handler chain is put together from. Catalogue, Registry
// and Authorizer must be set; every other zero value works.
type Config struct {
	Catalogue *api.Catalogue
	Registry  *registry.Registry
	// Authenticator finds out who asks; nil refuses everybody with 401.
	Authenticator authn.Authenticator
	// ProxyHeaders are what authenticating proxies say users by. They are taken
	// out of every request, whoever sent them.
	ProxyHeaders authn.ProxyHeaders
	Authorizer   authz.Authorizer
	// Decisions counts what the Authorizer says of requests, and how long that
	// takes; nil counts nothing.
	Decisions *authz.Metrics
	// Issuer is published for those who check tokens of service accounts
	// themselves; nil means not at all.
	Issuer *authn.Discovery
	// Checks are the health checks behind /healthz, /livez and /readyz, in the
	// order in which they are reported. "ping" is always there.
	Checks []Check
	// LivezGracePeriod is how long after New the checks of the start do not fail
	// /livez.
	LivezGracePeriod time.Duration
	// Starting makes the Handler refuse requests for resources and for documents
	// about them until Started is called.
	Starting bool
	// AllowedOrigins match the origins whose pages may use the API (CORS) and open
	// WebSockets; none means pages of the server itself.
	AllowedOrigins []*regexp.Regexp
	// Version is what /version answers.
	Version version.Info
	// RequestTimeout bounds every request but watches; 0 means a minute.
	RequestTimeout time.Duration
	// MinRequestTimeout is the least time after which a watch that asked for no
	// timeout is ended; the actual time is drawn between once and twice of it.
	// 0 means half an hour.
	MinRequestTimeout time.Duration
	// Limiter decides when requests execute. Without one there are the plain
	// bounds below.
	Limiter *apf.Limiter
	// Inflight counts the requests that are served; nil means one of its own. A
	// Limiter counts with it too.
	Inflight *apf.Inflight
	// MaxRequestsInflight and MaxMutatingRequestsInflight bound how many
	// requests that only read, and that write, are served at a time where there
	// is no Limiter; more are answered 429. 0 means no bound.
	MaxRequestsInflight, MaxMutatingRequestsInflight int
	// NoProfiling serves nothing at /debug/pprof/.
	NoProfiling bool
	Logger      *slog.Logger
	// Kubelets and Proxy are how connections to kubelets, pods and services are
	// made. Nil means a Proxy of its own, which shows kubelets no certificate and
	// believes theirs.
	Kubelets api.Kubelets
	Proxy    *proxy.Proxy
	// Aggregation knows the servers that serve group versions in the place of this one;
	// nil means none. AggregationRedirects lets them lead clients elsewhere.
	Aggregation          *aggregation.Services
	AggregationRedirects bool
	// Metrics is where the handlers register theirs and what /metrics shows.
	Metrics *prometheus.Registry
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Check is one health check.
type Check struct {
	Name string
	// Run returns nil when all is well. The error is for the log and for those
	// who may see it, never for anonymous clients.
	Run func(ctx context.Context) error
	// Ready, Live and Health are whether /readyz, /livez and /healthz include it.
	Ready, Live, Health bool
	// Unlogged makes a failure write no log record: the check is that of the log.
	Unlogged bool
	// Boot marks a step of the start, which the grace period of /livez is for.
	Boot bool
}
