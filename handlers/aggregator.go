package handlers

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/miniapiserver/miniapiserver/aggregation"
	"github.com/miniapiserver/miniapiserver/handlers/proxy"
	"github.com/miniapiserver/miniapiserver/internal/outbound"
	"github.com/miniapiserver/miniapiserver/request"
)

// remoteDiscoveryTimeout bounds how long clients wait for the discovery document of a
// group version from an aggregated server. Clients read many such documents before they
// do anything else.
const remoteDiscoveryTimeout = 5 * time.Second

// isForwardable reports whether another server understands a path as it was
// authorized. Paths without a resource are authorized as such, which all users are
// for discovery: of those, only the discovery document of the group version is
// forwarded. A path with empty or dot segments may lead to another resource at a
// server that cleans paths.
func isForwardable(info *request.Info) bool {
	if !info.IsResource {
		segments := strings.Split(strings.TrimSuffix(info.Path, "/"), "/")
		switch segments[1] {
		case "apis":
			return len(segments) == 4 // /apis/GROUP/VERSION
		default:
			return len(segments) <= 3 // /api, /api/VERSION
		}
	}
	isDot := func(segment string) bool { return segment == "." || segment == ".." }
	return info.Resource != "" && !isDot(info.Namespace) && !slices.ContainsFunc(info.Parts, isDot)
}

// forwardToRemote forwards a request to the aggregated server that serves its group
// version.
func (h *Handler) forwardToRemote(w http.ResponseWriter, r *http.Request, to *aggregation.Remote) {
	scope := request.From(r.Context())
	if !to.Available() {
		http.Error(w, "service unavailable", http.StatusServiceUnavailable)
		return
	}
	transport, err := to.Transport(proxy.WantsUpgrade(r))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	host, err := to.Host(r.Context())
	if err != nil {
		h.responder.RequestLogger(r).Info("the service of a remote server cannot be found", "apiservice", to.Name, "error", err)
		http.Error(w, "service unavailable", http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(h.shutdown.ending, cancel)()
	if !scope.Info.IsResource && strings.Count(strings.Trim(scope.Info.Path, "/"), "/") == 2 {
		var done context.CancelFunc
		ctx, done = context.WithTimeout(ctx, remoteDiscoveryTimeout)
		defer done()
	}
	if scope.Info.IsLongRunning() {
		clearDeadlines(w)
	}
	h.Proxy.Pass(w, r.WithContext(ctx), &proxy.Backend{
		URL:  url.URL{Scheme: "https", Host: host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery},
		Host: host, Transport: transport, NoRedirects: !h.AggregationRedirects,
		SetHeaders: func(header http.Header) {
			to.SetUserHeaders(header, scope.User)
			header.Set(auditID, scope.ID)
			if scope.Traced {
				outbound.InjectTrace(ctx, header)
			}
		},
	}, func(err error) { http.Error(w, err.Error(), http.StatusServiceUnavailable) })
}
