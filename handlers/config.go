package handlers

import (
	"context"
	"log/slog"
	"regexp"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/miniapiserver/miniapiserver/aggregation"
	"github.com/miniapiserver/miniapiserver/apf"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/audit"
	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/handlers/description"
	"github.com/miniapiserver/miniapiserver/handlers/proxy"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// Config configures a Handler. Catalogue, Registry and Authorizer must be set; the zero
// value works for every other field.
type Config struct {
	Catalogue *api.Catalogue
	Registry  *registry.Registry
	// Authenticator authenticates requests; nil refuses all requests with 401.
	Authenticator authn.Authenticator
	// ProxyHeaders are the headers by which authenticating proxies name users. They are
	// removed from every request.
	ProxyHeaders authn.ProxyHeaders
	Authorizer   authz.Authorizer
	// Recorder records requests for the lab; nil records none.
	Recorder request.Recorder
	// Faults has requests misbehave on purpose; nil has none.
	Faults request.Faults
	// Auditor records requests; nil records nothing.
	Auditor *audit.Auditor
	// Decisions counts and times the decisions of the Authorizer; nil counts nothing.
	Decisions *authz.Metrics
	// Issuer is the discovery document for relying parties that verify service account
	// tokens themselves; nil serves none.
	Issuer *authn.Discovery
	// Checks are the health checks behind /healthz, /livez and /readyz, in the
	// order in which they are reported. "ping" is always there.
	Checks []description.Check
	// RetryDuringShutdown makes RefuseRequests effective.
	RetryDuringShutdown bool
	// LivezGracePeriod is the time after New during which boot checks do not fail
	// /livez.
	LivezGracePeriod time.Duration
	// Starting makes the Handler refuse requests for resources and for documents
	// about them until Started is called.
	Starting bool
	// AllowedOrigins match the origins whose pages may use the API (CORS) and open
	// WebSockets, in addition to pages of the server itself.
	AllowedOrigins []*regexp.Regexp
	// ExternalAddress is the host and port that /api tells clients; empty means those of
	// the request.
	ExternalAddress string
	// Version is served at /version.
	Version version.Info
	// RequestTimeout bounds every request except long-running ones; 0 means a minute.
	RequestTimeout time.Duration
	// MinRequestTimeout is the minimum duration of a watch without a timeout; the
	// actual duration is random, between once and twice this. 0 means half an hour.
	MinRequestTimeout time.Duration
	// Uncached reports whether kube-apiserver would have no watch cache for a resource. Lists of these at
	// resourceVersion 0 honor their limit. Nil means that only the kind decides.
	Uncached func(schema.GroupResource) bool
	// Gates are the feature gates of the server; nil means their defaults.
	Gates features.Gates
	// Limiter decides when requests execute (priority and fairness). If nil, the plain
	// bounds below apply.
	Limiter *apf.Limiter
	// Inflight counts the requests in progress, also for the Limiter; nil means a
	// counter of its own.
	Inflight *apf.Inflight
	// MaxRequestsInflight and MaxMutatingRequestsInflight bound how many read-only and
	// mutating requests are served at a time if there is no Limiter; further requests
	// get 429. 0 means no bound.
	MaxRequestsInflight, MaxMutatingRequestsInflight int
	// Flags are the values of the flags that /flagz shows, by name; nil serves no such path.
	Flags map[string]string
	// NoProfiling serves nothing at /debug/pprof/ and /debug/flags/.
	NoProfiling bool
	// SetVerbosity changes the verbosity of the log; nil means that it cannot be changed.
	SetVerbosity func(int)
	// Logger logs, at the level of --v=2, the steps of requests that take longer than 500 ms.
	Logger *slog.Logger
	// Tracer makes the OpenTelemetry spans of requests; nil makes none.
	Tracer trace.TracerProvider
	// Kubelets and Proxy make the connections to kubelets, pods and services. A nil
	// Proxy means one without a client certificate that does not verify the
	// certificates of kubelets.
	Kubelets api.Kubelets
	Proxy    *proxy.Proxy
	// IsUnresolved reports whether a resource that is not in the catalogue is defined, but in a way in which it cannot be served;
	// and whether its objects are in namespaces; nil means that none is.
	IsUnresolved func(ctx context.Context, r schema.GroupVersionResource) (namespaced, ok bool)
	// Aggregation has the aggregated servers of group versions; nil means none.
	// AggregationRedirects forwards their redirects to clients.
	Aggregation          *aggregation.Services
	AggregationRedirects bool
	// Metrics is the registry of all metrics, which /metrics serves. SLIs is that of the
	// results of health checks, which /metrics/slis serves. Nil means new registries.
	Metrics, SLIs description.Metrics
	// Now is the clock by which tables show ages; nil means time.Now.
	Now func() time.Time
}
