package handlers

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/handlers/proxy"
)

// What kube-apiserver allows pages of allowed origins.
const (
	corsMethods = "POST, GET, OPTIONS, PUT, DELETE, PATCH"
	corsHeaders = "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since"
	corsExposed = "Date"
)

// allowOrigins tells browsers that pages of the allowed origins may use the API,
// and answers their preflight requests.
func (h *Handler) allowOrigins(next http.Handler) http.Handler {
	if len(h.AllowedOrigins) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		if origin == "" || !h.allowsOrigin(origin) {
			next.ServeHTTP(w, r)
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
		next.ServeHTTP(w, r)
	})
}

func (h *Handler) allowsOrigin(origin string) bool {
	return slices.ContainsFunc(h.AllowedOrigins, func(re *regexp.Regexp) bool { return re.MatchString(origin) })
}

// refuseForeignUpgrades refuses WebSockets of pages of other sites. A browser lets
// any page open one, and adds the client certificate of its user; the Origin
// header, which a page cannot set, tells which page it was. Programs send none.
func (h *Handler) refuseForeignUpgrades(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if proxy.WantsUpgrade(r) {
			for _, origin := range r.Header["Origin"] {
				if !isSameOrigin(origin, r.Host) && !h.allowsOrigin(origin) {
					h.fail(w, r, statusError(http.StatusForbidden, metav1.StatusReasonForbidden,
						fmt.Sprintf("forbidden: upgrade requests of the origin %q are not allowed", origin), &metav1.StatusDetails{}))
					return
				}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// isSameOrigin reports whether a page of an origin came from the host to which the
// request was sent.
func isSameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}
