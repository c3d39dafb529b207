package description

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/gorilla/mux"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
)

// issuerRoutes adds the discovery document and the keys of the issuer of service account
// tokens, if the issuer is discoverable.
func (h *Handler) issuerRoutes(m *mux.Router) {
	if !h.hasIssuer() {
		return
	}
	for path, serve := range map[string]http.HandlerFunc{
		"/.well-known/openid-configuration": h.serveStatic("application/json", h.Issuer.Configuration),
		"/openid/v1/jwks":                   h.serveStatic("application/jwk-set+json", h.Issuer.JWKS),
	} {
		m.HandleFunc(path, serve).Methods(http.MethodGet)
		m.HandleFunc(path+"/", serve).Methods(http.MethodGet)
		h.addToIndex(path)
	}
}

// hasIssuer reports whether the server serves the documents of an issuer.
func (h *Handler) hasIssuer() bool { return h.Issuer != nil && h.Issuer.IsDiscoverable() }

// serveStatic returns a handler for content of one media type that rarely changes.
func (h *Handler) serveStatic(media string, content func() ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !acceptsMedia(r.Header.Values("Accept"), media) {
			h.responder.WriteError(w, r, representation.NewStatusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
				"406: Not Acceptable\n\nAvailable representations: "+media, &metav1.StatusDetails{}))
			return
		}
		body, err := content()
		if err != nil {
			h.responder.WriteError(w, r, err)
			return
		}
		w.Header().Set("Content-Type", media)
		w.Header().Set("Cache-Control", fmt.Sprintf("public, max-age=%d", int(h.Issuer.Keys.MaxAge().Seconds())))
		_, _ = w.Write(body) // the client may have disconnected
	}
}

// acceptsMedia reports whether Accept headers accept a media type. Without a header, they do.
func acceptsMedia(accept []string, media string) bool {
	for _, header := range accept {
		for part := range strings.SplitSeq(header, ",") {
			kind, _, _ := strings.Cut(part, ";")
			if kind = strings.TrimSpace(kind); kind == "*/*" || kind == media {
				return true
			}
		}
	}
	return strings.Join(accept, "") == ""
}
