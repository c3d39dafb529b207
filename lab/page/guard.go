package page

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
)

// refusal is the answer to a request that is not served.
type refusal struct {
	code int
	text string
}

func (r *refusal) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(r.code)
	_, _ = w.Write([]byte(r.text + "\n")) // the client has gone
}

// policy allows what the page has, which is files of its own origin.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; frame-ancestors 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// secure sets the headers that every response has.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Embedder-Policy", "require-corp")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

// tokenDigest is the digest of a token. Digests have one length, so that a comparison takes the same time for every token.
type tokenDigest [sha256.Size]byte

func digest(token string) tokenDigest { return sha256.Sum256([]byte(token)) }

// matches reports whether the only Authorization header has the token.
func (d tokenDigest) matches(h http.Header) bool {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	sent := digest(token)
	return subtle.ConstantTimeCompare(sent[:], d[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// checkOrigin refuses requests that do not come from the page or from the address bar of a browser.
func checkOrigin(r *http.Request) *refusal {
	address, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !address.IP.IsLoopback() {
		return &refusal{http.StatusForbidden, "the page is served on a loopback address only"}
	}
	hosts := []string{address.String(), "localhost:" + strconv.Itoa(address.Port)}
	// A foreign name that resolves to this address makes a foreign page one of the same origin. Only its Host tells.
	if !slices.Contains(hosts, r.Host) {
		return &refusal{http.StatusMisdirectedRequest, "the host is not that of the page: open the address that the server printed at its start"}
	}
	for _, origin := range r.Header.Values("Origin") {
		if origin != "http://"+r.Host {
			return &refusal{http.StatusForbidden, "the request comes from another origin"}
		}
	}
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" {
			return &refusal{http.StatusForbidden, "the request comes from another site"}
		}
	}
	return nil
}

// isAPI reports whether a path belongs to the API. All others are files.
func isAPI(p string) bool {
	for _, prefix := range []string{"/api", "/apis", "/openapi", "/debug/api_priority_and_fairness"} {
		if p == prefix || strings.HasPrefix(p, prefix+"/") {
			return true
		}
	}
	return p == "/metrics"
}

// checkAPIRequest refuses requests that the page does not send.
func checkAPIRequest(r *http.Request) *refusal {
	// A path that means another one than it seems to could leave what isAPI allows.
	encoded := strings.ToLower(r.URL.EscapedPath())
	plain := strings.TrimSuffix(r.URL.Path, "/")
	if path.Clean(r.URL.Path) != plain || strings.ContainsAny(r.URL.Path, "\\\x00") ||
		strings.Contains(encoded, "%2f") || strings.Contains(encoded, "%5c") {
		return &refusal{http.StatusBadRequest, "the path is not clean"}
	}
	if r.Header.Get("Upgrade") != "" {
		return &refusal{http.StatusForbidden, "the page does not upgrade connections"}
	}
	if isProxied(plain) {
		return &refusal{http.StatusForbidden, "the page does not reach through the proxies of the API"}
	}
	switch r.Method {
	case http.MethodGet:
		if r.ContentLength != 0 {
			return &refusal{http.StatusBadRequest, "a GET has no body"}
		}
	case http.MethodPost:
		if !isReview(plain) {
			return &refusal{http.StatusForbidden, "the page does not write"}
		}
		if r.ContentLength < 0 || r.ContentLength > maxBody {
			return &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes, or no Content-Length", maxBody)}
		}
	default:
		return &refusal{http.StatusMethodNotAllowed, "the page sends GET, and POST for reviews"}
	}
	return nil
}

// isReview reports whether a POST to a path stores nothing.
func isReview(p string) bool {
	switch p {
	case "/apis/authorization.k8s.io/v1/subjectaccessreviews", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
		return true
	}
	return false
}

// isProxied reports whether a program behind the API answers the path: a node, a pod or a service. It would answer
// under the origin of the page.
func isProxied(p string) bool {
	s := strings.Split(strings.TrimPrefix(p, "/"), "/")
	if len(s) < 3 || s[0] != "api" {
		return false
	}
	// api/v1/proxy/..., api/v1/nodes/NAME/SUBRESOURCE, api/v1/namespaces/NAMESPACE/pods/NAME/SUBRESOURCE
	at := 4
	if s[2] == "namespaces" {
		at = 6
	}
	return s[2] == "proxy" || len(s) > at && slices.Contains([]string{"proxy", "exec", "attach", "portforward"}, s[at])
}
