package page

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// Limits of forwarded requests.
const (
	// maxForwarded is the maximum number of requests at a time. A browser has six connections to an origin.
	maxForwarded = 64
	// maxBody is the maximum size of a body. Reviews have some hundred bytes.
	maxBody = 1 << 14
	// bodyTimeout is the time in which a body must arrive.
	bodyTimeout = 10 * time.Second
	// maxHeader is the maximum size of the headers with the address.
	maxHeader = 1 << 14
)

// UserAgent is the User-Agent of the requests of the page.
const UserAgent = "miniapiserver-lab-page"

// Headers that are forwarded. All others are dropped: those by which a client authenticates or impersonates, those that
// proxies trust, cookies, and what concerns a connection.
var (
	requestHeaders  = []string{"Accept", "Accept-Encoding", "Content-Type"}
	responseHeaders = []string{"Audit-Id", "Content-Encoding", "Content-Length", "Content-Type", "Retry-After", "Vary", "Warning",
		"X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid"}
)

// newForwarder returns the proxy to the API. It ends a request to the API when the browser leaves.
func newForwarder(c Config) *httputil.ReverseProxy {
	target := c.URL
	if target == nil {
		target = &url.URL{Scheme: "http", Host: "miniapiserver"}
	}
	logger := c.Log
	if logger == nil {
		logger = slog.Default()
	}
	return &httputil.ReverseProxy{
		Transport:     c.API,
		FlushInterval: -1, // an event of a watch is sent at once
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = target.Scheme, target.Host, ""
			p.Out.Header = pick(p.In.Header, requestHeaders)
			p.Out.Header.Set("User-Agent", UserAgent)
			p.Out.Trailer = nil
			if p.Out.Body != nil {
				p.Out.Body = http.MaxBytesReader(nil, p.Out.Body, maxBody)
			}
		},
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode == http.StatusSwitchingProtocols {
				return errors.New("the API upgraded the connection")
			}
			r.Header = pick(r.Header, responseHeaders)
			r.Header.Set("Cache-Control", "no-store")
			r.Trailer = nil
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				logger.Warn("forwarding a request of the lab page failed", "path", r.URL.Path, "err", err)
			}
			(&refusal{http.StatusBadGateway, "the API server does not answer"}).write(w)
		},
		// The browser ends its watches by leaving, which is no error.
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo),
	}
}

// pick returns the headers of the names.
func pick(h http.Header, names []string) http.Header {
	picked := http.Header{}
	for _, name := range names {
		if values := h.Values(name); len(values) > 0 {
			picked[name] = values
		}
	}
	return picked
}
