// Package page serves the page of the lab: what the server is doing, in a browser. It has two jobs:
//
//   - it serves the files of the page, which are embedded and hold no data;
//   - it forwards the requests of the page to the API, as the user that its RoundTripper authenticates as.
//
// The page is made from the TypeScript in ui by the module in bundle. Package server gives the RoundTripper and starts
// the listener; the page reads the API and nothing else, so that this package imports none of the server.
//
// # Who may use it
//
// Whoever has the token may do what the user of the RoundTripper may. Three programs may try without it: another
// program of the machine, another user of the machine, and a page of another origin in the user's own browser.
//
//   - The listener is bound to a loopback address.
//   - The token has 256 bits. The browser gets it in the fragment of the address, which it does not send to any server,
//     and sends it in the header Authorization. There is no cookie that a foreign page could use.
//   - Host, Origin and Sec-Fetch-Site are checked, against pages of other origins and names that resolve to 127.0.0.1.
//   - The page can read, and ask for reviews of access; it cannot write, nor reach through the proxies of the API.
package page

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

//go:generate go run -C bundle .

// Config is what a page needs.
type Config struct {
	// API sends requests to the API server and authenticates them. Required.
	API http.RoundTripper
	// URL of the API server, of which the scheme and the host are used. By default they are those of an API that needs
	// no address.
	URL *url.URL
	// Token that the page must send; see NewToken. Required.
	Token string
	// Log gets the errors of the listener; slog.Default by default.
	Log *slog.Logger
}

// Handler serves the page. It must be served on a loopback address, as Listen does.
type Handler struct {
	token   tokenDigest
	files   map[string]*file
	forward *httputil.ReverseProxy
	// running has a place for each forwarded request.
	running chan struct{}
}

// leastToken is the length of a token of NewToken.
const leastToken = 43

// NewToken returns a random token of 256 bits.
func NewToken() string {
	var b [32]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// New returns the handler of a page.
func New(c Config) (*Handler, error) {
	if c.API == nil {
		return nil, errors.New("the page needs a RoundTripper to the API")
	}
	if len(c.Token) < leastToken {
		return nil, fmt.Errorf("the token of the page has %d characters, want at least %d: make it with NewToken", len(c.Token), leastToken)
	}
	files, err := loadFiles()
	if err != nil {
		return nil, err
	}
	return &Handler{token: digest(c.Token), files: files, forward: newForwarder(c), running: make(chan struct{}, maxForwarded)}, nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	if problem := checkOrigin(r); problem != nil {
		problem.write(w)
		return
	}
	if !isAPI(r.URL.Path) {
		h.serveFile(w, r)
		return
	}
	if !h.token.matches(r.Header) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="lab page"`)
		(&refusal{http.StatusUnauthorized, "the token is missing or wrong: open the address that the server printed at its start"}).write(w)
		return
	}
	if problem := checkAPIRequest(r); problem != nil {
		problem.write(w)
		return
	}
	if r.Method == http.MethodPost {
		// The server has no timeout for bodies, which would end watches as well.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // without deadlines the size is bounded
	}
	select {
	case h.running <- struct{}{}:
		defer func() { <-h.running }()
	default:
		w.Header().Set("Retry-After", "1")
		(&refusal{http.StatusServiceUnavailable, "the page has too many requests at a time: close some of its tabs"}).write(w)
		return
	}
	h.forward.ServeHTTP(w, r)
}
