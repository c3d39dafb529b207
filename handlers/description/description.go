// Package description serves the paths that describe the API and the server rather than
// objects: discovery, OpenAPI documents, health checks, metrics, the version, the keys of
// the token issuer, profiles and the index. Package handlers authorizes a request, calls
// this package if the path names no resource, and forwards requests for aggregated servers
// itself. Responses are written by package representation.
//
// description.go lists the paths. discovery.go and aggregated.go make discovery documents
// from the catalogue. OpenAPI documents are made by openapi_maker.go (version 3) and
// openapi_v2.go, and cached by openapi_documents.go until their part of the catalogue
// changes.
package description

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/mux"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/version"

	"github.com/miniapiserver/miniapiserver/aggregation"
	"github.com/miniapiserver/miniapiserver/apf"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/metricset"
	"github.com/miniapiserver/miniapiserver/openapi"
	"github.com/miniapiserver/miniapiserver/request"
)

// Config configures a Handler. Catalogue, Metrics, Logger and Now must be set.
type Config struct {
	Catalogue *api.Catalogue
	// Aggregation has the aggregated servers of group versions; nil means none.
	Aggregation *aggregation.Services
	// ForwardToRemote forwards a request for an OpenAPI document of an aggregated server
	// to that server. It must be set if Aggregation is.
	ForwardToRemote func(http.ResponseWriter, *http.Request, *aggregation.Remote)
	// Issuer is the discovery document for relying parties that verify service account
	// tokens themselves; nil serves none.
	Issuer *authn.Discovery
	// Checks are the health checks behind /healthz, /livez and /readyz, in the order in
	// which they are reported, after "ping".
	Checks []Check
	// LivezGracePeriod is the time after New during which boot checks do not fail /livez.
	LivezGracePeriod time.Duration
	// ExternalAddress is the host and port that /api tells clients; empty means those of
	// the request.
	ExternalAddress string
	// ShuttingDown reports whether shutdown has begun, from which on /readyz fails; nil
	// means never.
	ShuttingDown func() bool
	// Version is served at /version.
	Version version.Info
	// Gates are the feature gates of the server.
	Gates features.Gates
	// Limiter is dumped at /debug/api_priority_and_fairness/; nil serves no dumps.
	Limiter *apf.Limiter
	// Metrics is the registry of all metrics, which /metrics serves. SLIs is that of the
	// results of health checks, which /metrics/slis serves; nil means a new one.
	Metrics, SLIs Metrics
	// Flags are the values of the flags that /flagz shows, by name; nil serves no such path.
	Flags map[string]string
	// ReportDeprecated reports the use of a deprecated version of a page to the client, with a warning, and to the
	// operator. It must be set if one of the pages is served.
	ReportDeprecated func(scope *request.Scope, warning string)
	// NoProfiling serves nothing at /debug/pprof/ and /debug/flags/.
	NoProfiling bool
	// SetVerbosity changes the verbosity of the log, for /debug/flags/v; nil serves no such path.
	SetVerbosity func(int)
	Logger       *slog.Logger
	// Now is the clock.
	Now func() time.Time
}

// Handler serves the paths that describe the API and the server. It is safe for
// concurrent use.
type Handler struct {
	Config
	router       *mux.Router
	responder    representation.Responder
	slis         *slis
	schemas      openAPIDocuments
	openAPIIndex indexVersion
	aggregations prometheus.Counter
	// listed are the paths in the index at /.
	listed []string
}

// New returns a Handler. Boot checks get their grace period from now on.
func New(c Config) (*Handler, error) {
	if c.Catalogue == nil || c.Metrics == nil || c.Logger == nil || c.Now == nil {
		return nil, errors.New("description: Catalogue, Metrics, Logger and Now must be set")
	}
	cbor := c.Gates.Enabled(features.CBORServingAndStorage)
	h := &Handler{Config: c, responder: representation.Responder{Logger: c.Logger, CBOR: cbor}}
	h.schemas = openAPIDocuments{now: c.Now, cbor: cbor, issuer: h.hasIssuer(), info: openapi.Info{
		Version: c.Version.EmulationMajor + "." + c.Version.EmulationMinor, NoEnums: !c.Gates.Enabled(features.OpenAPIEnums),
	}}
	var set metricset.Set
	h.aggregations = set.Counter("aggregator_discovery_aggregation_count_total",
		"[ALPHA] Counter of number of times discovery was aggregated")
	h.schemas.regenerations = newRegenerations(&set)
	err := set.Register(c.Metrics)
	if err != nil {
		return nil, err
	}
	if h.slis, err = newSLIs(c.SLIs); err != nil {
		return nil, err
	}
	m := mux.NewRouter().SkipClean(true).UseEncodedPath()
	h.discoveryRoutes(m)
	h.openAPIRoutes(m)
	h.healthRoutes(m)
	h.versionRoutes(m)
	h.issuerRoutes(m)
	h.metricsRoutes(m)
	h.flowControlRoutes(m)
	h.profilingRoutes(m)
	h.pageRoutes(m)
	h.indexRoutes(m)
	m.NotFoundHandler = http.HandlerFunc(representation.ServeNotFound)
	m.MethodNotAllowedHandler = http.HandlerFunc(h.responder.ServeMethodNotAllowed)
	h.router = m
	return h, nil
}

// ServeHTTP implements http.Handler. The request must have gone through the chain.
// An escaped slash is a slash, as it was for authorization.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := withoutSlashes(r.URL.Path)
	if r.URL.RawPath != "" || len(path) != len(r.URL.Path) {
		plain, u := *r, *r.URL
		u.Path, u.RawPath = path, ""
		plain.URL = &u
		r = &plain
	}
	h.router.ServeHTTP(w, r)
}

// withoutSlashes returns a path with at most two slashes at the end, and with at most one if it is no
// group, if it is one of those whose slashes kube-apiserver's router cuts off: documents of the API below
// /api and /apis, and /version.
func withoutSlashes(path string) string {
	if !strings.HasSuffix(path, "//") {
		return path
	}
	cut := strings.TrimRight(path, "/")
	switch below, isGroups := strings.CutPrefix(cut, "/apis/"); {
	case isGroups && !strings.Contains(below, "/"):
		return cut + "//"
	case isGroups, cut == "/api", cut == "/version", strings.HasPrefix(cut, "/api/"):
		return cut + "/"
	}
	return path
}
