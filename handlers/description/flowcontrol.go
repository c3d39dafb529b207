package description

import (
	"io"
	"net/http"

	"github.com/gorilla/mux"

	"github.com/miniapiserver/miniapiserver/request"
)

// flowControlRoutes adds the dumps of priority levels, queues and waiting requests.
func (h *Handler) flowControlRoutes(m *mux.Router) {
	if h.Limiter == nil {
		return
	}
	dump := func(name string, write func(io.Writer, *http.Request) error) {
		m.HandleFunc("/debug/api_priority_and_fairness/"+name, func(w http.ResponseWriter, r *http.Request) {
			if err := write(w, r); err != nil {
				h.responder.RequestLogger(r).Debug("cannot write a dump", "error", err)
			}
		})
	}
	dump("dump_priority_levels", func(w io.Writer, _ *http.Request) error { return h.Limiter.DumpPriorityLevels(w) })
	dump("dump_queues", func(w io.Writer, _ *http.Request) error { return h.Limiter.DumpQueues(w) })
	dump("dump_requests", func(w io.Writer, r *http.Request) error {
		return h.Limiter.DumpRequests(w, request.From(r.Context()).Info.Query.Get("includeRequestDetails") != "")
	})
}
