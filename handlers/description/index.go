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

// addToIndex adds fixed paths to the index. Profiles and dumps are served without
// being listed, as kube-apiserver's are.
func (h *Handler) addToIndex(paths ...string) { h.listed = append(h.listed, paths...) }

// serveIndex writes all paths in order: the fixed ones, and those of the groups
// and versions that this server or another one serves. The answer is JSON,
// whatever the method and the Accept header are.
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
