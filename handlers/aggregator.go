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
// forwarded. A path with empty or dot segments leads to another resource at a
// server that cleans paths, and one with escapes to another resource at a server
// that resolves escapes twice.
func isForwardable(info *request.Info) bool {
	segments := strings.Split(strings.TrimSuffix(info.Path, "/"), "/")[1:]
	if !info.IsResource {
		last := 2 // /api, /api/VERSION
		if segments[0] == "apis" {
			last = 3 // /apis/GROUP/VERSION
			if len(segments) < last {
				return false
			}
		}
		return len(segments) <= last && !slices.ContainsFunc(segments, isAmbiguous)
	}
	authorized, below := segments, []string(nil)
	if rest := len(info.Parts) - 3; rest > 0 {
		// The path below a subresource belongs to that subresource, unless it leads out of it.
		n := strings.Count(strings.Trim(info.Path, "/"), "/") + 1 - rest
		authorized, below = segments[:n], segments[n:]
	}
	return info.Resource != "" && !slices.ContainsFunc(authorized, isAmbiguous) && !slices.ContainsFunc(below, leadsOut)
}

// isAmbiguous reports whether servers can differ about what a decoded segment of a path means. No name of
// an object contains a slash or a percent sign.
func isAmbiguous(segment string) bool {
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	return segment == "" || leadsOut(segment) || strings.ContainsAny(segment, `%\`) || strings.ContainsFunc(segment, control)
}

// leadsOut reports whether a server that cleans paths may take a decoded segment for the one above it.
func leadsOut(segment string) bool {
	if again, err := url.PathUnescape(segment); err == nil {
		segment = again
	}
	isSlash := func(r rune) bool { return r == '/' || r == '\\' }
	for part := range strings.FieldsFuncSeq(segment, isSlash) {
		if part, _, _ = strings.Cut(part, ";"); part == "." || part == ".." {
			return true
		}
	}
	return false
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
		// The path and the query are those that were authorized, whatever their encoding was.
		URL:  url.URL{Scheme: "https", Host: host, Path: scope.Info.Path, RawQuery: scope.Info.Query.Encode()},
		Host: host, Transport: transport, NoRedirects: !h.AggregationRedirects,
		SetHeaders: func(header http.Header) {
			to.SetUserHeaders(header, scope.User)
			header.Set(auditID, scope.ID)
			if !proxy.WantsUpgrade(r) { // as in kube-apiserver, the server's own address
				header.Set("X-Forwarded-Host", host)
				header.Set("X-Forwarded-Proto", "https")
			}
			if scope.Traced {
				outbound.InjectTrace(ctx, header)
			}
		},
	}, func(err error) { http.Error(w, err.Error(), http.StatusServiceUnavailable) })
}
