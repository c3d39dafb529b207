package handlers

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/handlers/proxy"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
)

// kube-apiserver's CORS response headers.
const (
	corsMethods = "POST, GET, OPTIONS, PUT, DELETE, PATCH"
	corsHeaders = "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since"
	corsExposed = "Date"
)

// allowOrigins adds CORS headers to responses to pages of the allowed origins and
// answers their preflight requests.
func (h *Handler) allowOrigins(next http.HandlerFunc) http.HandlerFunc {
	if len(h.AllowedOrigins) == 0 {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		if origin == "" || !h.allowsOrigin(origin) {
			next(w, r)
			return
		}
		header := w.Header()
		header.Set("Access-Control-Allow-Origin", origin)
		header.Set("Access-Control-Allow-Methods", corsMethods)
		header.Set("Access-Control-Allow-Headers", corsHeaders)
		header.Set("Access-Control-Expose-Headers", corsExposed)
		header.Set("Access-Control-Allow-Credentials", "true")
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next(w, r)
	}
}

func (h *Handler) allowsOrigin(origin string) bool {
	return slices.ContainsFunc(h.AllowedOrigins, func(re *regexp.Regexp) bool { return re.MatchString(origin) })
}

// refuseForeignUpgrades refuses WebSockets from pages of other origins. A browser lets
// any page open one and adds the client certificate of its user; a page cannot set the
// Origin header, nor add a bearer token to the request, by which other programs are known. A
// page that knows a token can send it as a subprotocol; it counts on a connection without a
// client certificate, whose user it then is.
func (h *Handler) refuseForeignUpgrades(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, origin := range r.Header["Origin"] {
			if proxy.WantsUpgrade(r) && !isSameOrigin(origin, r.Host) && !h.allowsOrigin(origin) && !hasBearerToken(r) {
				h.responder.WriteError(w, r, representation.NewStatusError(http.StatusForbidden, metav1.StatusReasonForbidden,
					fmt.Sprintf("forbidden: upgrade requests of the origin %q are not allowed", origin), &metav1.StatusDetails{}))
				return
			}
		}
		next(w, r)
	}
}

// hasBearerToken reports whether a request has a bearer token in its header Authorization, or in
// a subprotocol where no client certificate can be meant instead.
func hasBearerToken(r *http.Request) bool {
	if scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		return true
	}
	return r.TLS != nil && len(r.TLS.PeerCertificates) == 0 && authn.HasWebSocketToken(r)
}

// isSameOrigin reports whether an origin is the host to which the request was sent.
func isSameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}
