package description

import (
	"net/http"
	"strings"

	"github.com/gorilla/mux"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
)

// issuerRoutes adds the documents that say who issues tokens of service
// accounts, if there are any.
func (h *Handler) issuerRoutes(m *mux.Router) {
	if h.Issuer == nil || !h.Issuer.IsDiscoverable() {
		return
	}
	m.HandleFunc("/.well-known/openid-configuration", h.document("application/json", h.Issuer.Configuration)).Methods(http.MethodGet)
	m.HandleFunc("/openid/v1/jwks", h.document("application/jwk-set+json", h.Issuer.JWKS)).Methods(http.MethodGet)
	h.addToIndex("/.well-known/openid-configuration", "/openid/v1/jwks")
}

// document serves what changes rarely, in one form only.
func (h *Handler) document(media string, content func() ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !takes(r.Header.Values("Accept"), media) {
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
		w.Header().Set("Cache-Control", "public, max-age=3600")
		_, _ = w.Write(body) // the client may be gone
	}
}

// takes tells whether a client that accepts something accepts a media type.
func takes(accept []string, media string) bool {
	any := true
	for _, header := range accept {
		for part := range strings.SplitSeq(header, ",") {
			kind, _, _ := strings.Cut(part, ";")
			switch kind = strings.TrimSpace(kind); kind {
			case "":
				continue
			case "*/*", media:
				return true
			}
			any = false
		}
	}
	return any
}
