package description

import (
	"net/http"
	"net/http/pprof"

	"github.com/gorilla/mux"
)

// profilingRoutes adds the profiles of the process.
func (h *Handler) profilingRoutes(m *mux.Router) {
	if h.NoProfiling {
		return
	}
	const root = "/debug/pprof"
	m.HandleFunc(root, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, root+"/", http.StatusMovedPermanently)
	})
	m.HandleFunc(root+"/cmdline", pprof.Cmdline)
	m.HandleFunc(root+"/profile", pprof.Profile)
	m.HandleFunc(root+"/symbol", pprof.Symbol)
	m.HandleFunc(root+"/trace", pprof.Trace)
	m.PathPrefix(root + "/").HandlerFunc(pprof.Index)
}
