package description

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/gorilla/mux"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
)

// indexRoutes adds / and /index.html, the list of paths.
func (h *Handler) indexRoutes(m *mux.Router) {
	m.HandleFunc("/", h.serveIndex)
	m.HandleFunc("/index.html", h.serveIndex)
}

// addToIndex adds paths to the index. Profiles and dumps are not listed, as in kube-apiserver.
func (h *Handler) addToIndex(paths ...string) { h.listed = append(h.listed, paths...) }

// serveIndex writes all paths in order, with those of the groups and versions of this server
// and of aggregated servers. The response is JSON for every method and Accept header.
func (h *Handler) serveIndex(w http.ResponseWriter, r *http.Request) {
	paths := slices.Clone(h.listed)
	for _, g := range h.Aggregation.Groups(h.Catalogue.Groups()) {
		root := "/api"
		if g.Name != "" {
			root = "/apis/" + g.Name
		}
		paths = append(paths, root)
		for _, gv := range g.Versions {
			paths = append(paths, root+"/"+gv.Version)
		}
	}
	slices.Sort(paths)
	data, err := json.MarshalIndent(metav1.RootPaths{Paths: slices.Compact(paths)}, "", "  ")
	if err != nil {
		h.responder.WriteError(w, r, err)
		return
	}
	representation.WriteBody(w, http.StatusOK, representation.MediaJSON, data)
}
