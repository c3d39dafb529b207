package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
)

// flushInterval is the time after which a partial response is flushed.
const flushInterval = 200 * time.Millisecond

// WantsUpgrade reports whether a request asks for a connection with another protocol.
func WantsUpgrade(r *http.Request) bool {
	for _, v := range r.Header["Connection"] {
		for part := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(part), "upgrade") {
				return true
			}
		}
	}
	return false
}

// Forward forwards a request to a location, and returns its response. If both sides agree on
// another protocol, it copies bytes until one of them closes the connection. It calls fail
// with errors that occur before the response. web is true for requests to an HTTP server of a
// pod, service or node, and false for requests for the kubelet's streams.
func (p *Proxy) Forward(w http.ResponseWriter, r *http.Request, loc *api.Location, web bool, fail func(error)) {
	target := loc.URL
	if target.Scheme == "" {
		target.Scheme = "http"
	}
	if web {
		target.RawQuery = r.URL.RawQuery
	}
	if !WantsUpgrade(r) && redirectToRoot(w, r, target.Path) {
		return
	}
	p.Pass(w, r, &Backend{URL: target, Host: r.Host, Transport: p.transport(loc, WantsUpgrade(r)),
		SetHeaders: func(h http.Header) { mark(h, loc) }}, fail)
}

// mark marks a request that carries the client certificate for kubelets.
func mark(h http.Header, loc *api.Location) {
	if loc.Kubelet {
		h[request.HeaderForKubelet] = []string{"true"}
	}
}

// Backend is a server to which a request is forwarded.
type Backend struct {
	URL url.URL
	// Host is the Host header of the forwarded request.
	Host      string
	Transport http.RoundTripper
	// SetHeaders changes the headers of the forwarded request; nil changes nothing.
	SetHeaders func(http.Header)
	// NoRedirects replaces redirects by an error.
	NoRedirects bool
}

// Pass forwards a request to a backend, like Forward.
func (p *Proxy) Pass(w http.ResponseWriter, r *http.Request, b *Backend, fail func(error)) {
	upgrade, prefix := WantsUpgrade(r), prefixOf(r.URL.Path, b.URL.Path)
	out := &httputil.ReverseProxy{
		Transport:     b.Transport,
		FlushInterval: flushInterval,
		ErrorLog:      slog.NewLogLogger(p.logger.Handler(), slog.LevelDebug),
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL, pr.Out.Host = &b.URL, b.Host
			setForwardedHeaders(pr, prefix, upgrade)
			if b.SetHeaders != nil {
				b.SetHeaders(pr.Out.Header)
			}
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { fail(backendError(err, upgrade)) },
	}
	out.ModifyResponse = func(response *http.Response) error {
		err := checkUpgrade(response)
		if err == nil {
			clear(w.Header()) // as with kube-apiserver, the response has the headers of the backend alone
		}
		return err
	}
	if !upgrade {
		out.ModifyResponse = func(response *http.Response) error {
			dropCORS(response.Header)
			if b.NoRedirects && isRedirect(response) {
				refuseRedirect(response)
				return nil
			}
			return rewrite(response, r, prefix)
		}
	}
	out.ServeHTTP(w, r)
}

// isRedirect reports whether a response redirects the client.
func isRedirect(response *http.Response) bool {
	return response.StatusCode >= 300 && response.StatusCode < 400 && response.Header.Get("Location") != ""
}

// refuseRedirect replaces a redirect by an error.
func refuseRedirect(response *http.Response) {
	const text = "the backend attempted to redirect this request, which is not permitted"
	_ = response.Body.Close() // nobody reads it
	response.StatusCode, response.Header = http.StatusBadGateway, http.Header{}
	response.Body, response.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
}

// redirectToRoot redirects a GET of the empty path to "/", so that browsers resolve relative
// links below it. It reports whether it did.
func redirectToRoot(w http.ResponseWriter, r *http.Request, target string) bool {
	if target != "" || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	to := r.URL.Path + "/"
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusMovedPermanently)
	return true
}

// prefixOf returns the part of the requested path before the path at the backend.
func prefixOf(requested, target string) string {
	if strings.HasSuffix(requested, "/") && !strings.HasSuffix(target, "/") {
		target += "/"
	}
	return strings.TrimSuffix(requested, target)
}

// setForwardedHeaders sets the X-Forwarded headers. It keeps the values of earlier proxies.
func setForwardedHeaders(pr *httputil.ProxyRequest, prefix string, upgrade bool) {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v := pr.In.Header[name]; len(v) > 0 {
			pr.Out.Header[name] = v
		}
	}
	if client, _, err := net.SplitHostPort(pr.In.RemoteAddr); err == nil {
		if before := pr.In.Header["X-Forwarded-For"]; len(before) > 0 {
			client = strings.Join(before, ", ") + ", " + client
		}
		pr.Out.Header.Set("X-Forwarded-For", client)
	}
	if _, ok := pr.Out.Header["User-Agent"]; !ok {
		pr.Out.Header.Set("User-Agent", "") // otherwise net/http adds its own
	}
	if upgrade {
		return
	}
	uri := path.Join(prefix, pr.Out.URL.EscapedPath())
	if strings.HasSuffix(pr.Out.URL.Path, "/") {
		uri += "/"
	}
	pr.Out.Header.Set("X-Forwarded-Uri", uri)
}

// backendError returns the error for the client of a failed connection to a backend.
func backendError(err error, upgrade bool) error {
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status), errors.Is(err, context.Canceled), errors.As(err, new(invalidUpgrade)):
		return err
	case upgrade:
		return fmt.Errorf("error dialing backend: %w", err)
	}
	return apierrors.NewServiceUnavailable(fmt.Sprintf("error trying to reach service: %v", err))
}

// checkUpgrade returns an error unless a response to an upgrade accepts it or is an error.
func checkUpgrade(response *http.Response) error {
	if code := response.StatusCode; code != http.StatusSwitchingProtocols && code < http.StatusBadRequest {
		return invalidUpgrade{code}
	}
	return nil
}

// invalidUpgrade is a response to an upgrade that neither accepts it nor is an error.
type invalidUpgrade struct{ code int }

func (e invalidUpgrade) Error() string {
	return fmt.Sprintf("invalid upgrade response: status code %d", e.code)
}

// dropCORS removes CORS headers: a backend must not allow pages of other origins to use this
// server.
func dropCORS(h http.Header) {
	for _, name := range []string{"Credentials", "Headers", "Methods", "Origin"} {
		h.Del("Access-Control-Allow-" + name)
	}
}
