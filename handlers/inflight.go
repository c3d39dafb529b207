package handlers

import (
	"net/http"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"

	"github.com/miniapiserver/miniapiserver/apf"
	"github.com/miniapiserver/miniapiserver/request"
)

// The headers that say how a request was classified, in the form in which
// net/http keeps them.
const (
	flowSchemaHeader    = "X-Kubernetes-Pf-Flowschema-Uid"
	priorityLevelHeader = "X-Kubernetes-Pf-Prioritylevel-Uid"
)

// limit has requests wait until they may execute, and rejects what would wait
// too long. A watch takes its place only until it has sent what it begins with;
// what is connected through to somewhere else takes none.
func (h *Handler) limit(next http.HandlerFunc) http.HandlerFunc {
	if h.Limiter == nil {
		return h.limitPlainly(next)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		scope := request.From(r.Context())
		info := &scope.Info
		if connects(info) {
			next(w, r)
			return
		}
		ask := apf.RequestDigest{User: scope.User, Info: info}
		if info.Verb == "list" || info.Watch {
			ask.List, ask.InitialEvents = listShape(info)
		}
		ticket, ok := h.Limiter.Begin(r.Context(), ask)
		header := w.Header()
		header[flowSchemaHeader], header[priorityLevelHeader] = ticket.FlowSchemaUID(), ticket.PriorityLevelUID()
		if !ok {
			h.Logger.Info("request rejected", "id", scope.ID, "reason", ticket.Reason)
			tooMany(w, ticket.RetryAfter())
			return
		}
		defer ticket.Done()
		if info.Watch {
			scope.InitialEventsSent = ticket.Done
		}
		next(w, r)
	}
}

// listShape is what decides how much a list takes, and whether a watch begins
// with one. Parameters that are wrong are for the verb to refuse.
func listShape(info *request.Info) (shape apf.ListShape, initialEvents bool) {
	shape.One = info.Name != ""
	q := info.Query
	if len(q) == 0 {
		return shape, false
	}
	shape.Limit, _ = strconv.ParseInt(q.Get("limit"), 10, 64)
	shape.Selects = q.Get("labelSelector") != "" || q.Get("fieldSelector") != ""
	initialEvents, _ = strconv.ParseBool(q.Get("sendInitialEvents"))
	return shape, initialEvents
}

// limitPlainly bounds how many requests are served at a time, and rejects more.
func (h *Handler) limitPlainly(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if isLongRunning(r) {
			next(w, r)
			return
		}
		scope := request.From(r.Context())
		mutates, most := apf.IsMutating(scope.Info.Verb), h.MaxRequestsInflight
		if mutates {
			most = h.MaxMutatingRequestsInflight
		}
		defer h.Inflight.Done(mutates)
		// Masters are exempt, so that a server which is kept busy can still be
		// looked at.
		if n := h.Inflight.Execute(mutates); most > 0 && n > most && !slices.Contains(scope.User.Groups, request.GroupMasters) {
			tooMany(w, 1)
			return
		}
		next(w, r)
	}
}

// tooMany rejects a request, in plain text as kube-apiserver: who is overloaded
// does not go into what the client accepts.
func tooMany(w http.ResponseWriter, retryAfter int) {
	w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
}

// watching counts a watch among those that writes wake.
func (h *Handler) watching(c *call, o *internalversion.ListOptions) (end func()) {
	if h.Limiter == nil {
		return func() {}
	}
	var selected apf.WatchSelection
	if f := o.FieldSelector; f != nil {
		selected.Name, _ = f.RequiresExactMatch("metadata.name")
		for _, field := range c.Resource.Fields.Indexed {
			if value, ok := f.RequiresExactMatch(field); ok {
				selected.Value = value
			}
		}
	}
	return h.Limiter.CountWatch(c.info, selected)
}
