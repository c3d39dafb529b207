package description

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/gorilla/mux"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
)

// versionRoutes adds /version.
func (h *Handler) versionRoutes(m *mux.Router) {
	m.HandleFunc("/version", h.serveVersion).Methods(http.MethodGet)
	m.HandleFunc("/version/", h.serveVersion).Methods(http.MethodGet)
	m.HandleFunc("/version/", h.responder.ServeMethodNotAllowed)
	m.PathPrefix("/version/").HandlerFunc(h.serveNoResource)
	h.addToIndex("/version")
}

// serveNoResource responds to paths below a document, which kube-apiserver's router takes for paths of the
// API.
func (h *Handler) serveNoResource(w http.ResponseWriter, r *http.Request) {
	h.responder.WriteError(w, r, representation.ErrNoResource())
}

// serveVersion serves the version, in JSON only.
func (h *Handler) serveVersion(w http.ResponseWriter, r *http.Request) {
	if accept := r.Header.Get("Accept"); accept != "" && !acceptsJSON(accept) {
		h.responder.WriteError(w, r, representation.NewStatusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
			"406: Not Acceptable\n\nAvailable representations: "+representation.MediaJSON, &metav1.StatusDetails{}))
		return
	}
	data, err := json.MarshalIndent(h.Version, "", "  ")
	if err != nil {
		h.responder.WriteError(w, r, err)
		return
	}
	representation.WriteBody(w, http.StatusOK, representation.MediaJSON, data)
}

func acceptsJSON(accept string) bool {
	for _, c := range representation.ParseAccept(accept) {
		if c.Name == representation.MediaJSON || c.Name == "*/*" {
			return true
		}
	}
	return strings.TrimSpace(accept) == ""
}
