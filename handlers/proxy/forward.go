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
)

// flushInterval is how long a part of an answer waits for more of it.
const flushInterval = 200 * time.Millisecond

// WantsUpgrade tells of requests that want a connection for another protocol.
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

// Forward passes a request on, and the answer back. If both sides agree on
// another protocol, what follows is passed through until one of them ends it.
// What goes wrong before there is an answer is told to fail. Web: it is about
// what is served there, and not about the kubelet's own streams.
func (p *Proxy) Forward(w http.ResponseWriter, r *http.Request, at *api.Location, web bool, fail func(error)) {
	target := at.URL
	if target.Scheme == "" {
		target.Scheme = "http"
	}
	if web {
		target.RawQuery = r.URL.RawQuery
	}
	if !WantsUpgrade(r) && redirectedToRoot(w, r, target.Path) {
		return
	}
	p.Pass(w, r, &Backend{URL: target, Host: r.Host, Transport: p.transport(at)}, fail)
}

// Backend is a server that a request is passed on to.
type Backend struct {
	URL url.URL
	// Host is by what name it is asked.
	Host      string
	Transport http.RoundTripper
	// Say, if it is set, changes the headers that it is sent.
	Say func(http.Header)
	// NoRedirects: it must not lead clients elsewhere.
	NoRedirects bool
}

// Pass is Forward for any server.
func (p *Proxy) Pass(w http.ResponseWriter, r *http.Request, b *Backend, fail func(error)) {
	upgrade, prefix := WantsUpgrade(r), prefixOf(r.URL.Path, b.URL.Path)
	out := &httputil.ReverseProxy{
		Transport:     b.Transport,
		FlushInterval: flushInterval,
		ErrorLog:      slog.NewLogLogger(p.logger.Handler(), slog.LevelDebug),
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL, pr.Out.Host = &b.URL, b.Host
			forwarded(pr, prefix, upgrade)
			if b.Say != nil {
				b.Say(pr.Out.Header)
			}
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { fail(failure(err, upgrade)) },
	}
	out.ModifyResponse = checkUpgrade
	if !upgrade {
		out.ModifyResponse = func(answer *http.Response) error {
			dropCORS(answer.Header)
			if b.NoRedirects && leadsElsewhere(answer) {
				refuseRedirect(answer)
				return nil
			}
			return rewrite(answer, r, prefix)
		}
	}
	out.ServeHTTP(w, r)
}

func leadsElsewhere(answer *http.Response) bool {
	return answer.StatusCode >= 300 && answer.StatusCode < 400 && answer.Header.Get("Location") != ""
}

// refuseRedirect puts an error in the place of a redirect.
func refuseRedirect(answer *http.Response) {
	const text = "the backend attempted to redirect this request, which is not permitted"
	_ = answer.Body.Close() // nobody reads it
	answer.StatusCode, answer.Header = http.StatusBadGateway, http.Header{}
	answer.Body, answer.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
}

// redirectedToRoot sends a browser that asks for no path at all to the path "/",
// so that it takes links as below it.
func redirectedToRoot(w http.ResponseWriter, r *http.Request, target string) bool {
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

// prefixOf is the part of the path by which clients come here.
func prefixOf(asked, target string) string {
	if strings.HasSuffix(asked, "/") && !strings.HasSuffix(target, "/") {
		target += "/"
	}
	return strings.TrimSuffix(asked, target)
}

// forwarded says whom the request is passed on for. What other proxies said
// before stays.
func forwarded(pr *httputil.ProxyRequest, prefix string, upgrade bool) {
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
		pr.Out.Header.Set("User-Agent", "") // and not Go's own
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

// failure is how an error of the other side is told.
func failure(err error, upgrade bool) error {
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status), errors.Is(err, context.Canceled):
		return err
	case upgrade:
		return fmt.Errorf("error dialing backend: %w", err)
	}
	return apierrors.NewServiceUnavailable(fmt.Sprintf("error trying to reach service: %v", err))
}

// checkUpgrade takes for an answer to an upgrade the other protocol, or an error.
func checkUpgrade(answer *http.Response) error {
	if code := answer.StatusCode; code != http.StatusSwitchingProtocols && code < http.StatusBadRequest {
		return apierrors.NewInternalError(fmt.Errorf("invalid upgrade response: status code %d", code))
	}
	return nil
}

// dropCORS takes back what the other side allows pages of other sites: it is not
// its place to say so of this server.
func dropCORS(h http.Header) {
	for _, name := range []string{"Credentials", "Headers", "Methods", "Origin"} {
		h.Del("Access-Control-Allow-" + name)
	}
}
