package handlers

import (
	"net/http"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"

	"github.com/miniapiserver/miniapiserver/apf"
	"github.com/miniapiserver/miniapiserver/request"
)

// limit lets requests wait until they may execute, and rejects requests that would wait too
// long. A watch occupies its seats until it has sent its initial events; connections to
// pods, nodes and services occupy none.
func (h *Handler) limit(next http.HandlerFunc) http.HandlerFunc {
	if h.Limiter == nil {
		return h.limitByCount(next)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		scope := request.From(r.Context())
		info := &scope.Info
		if info.Connects {
			next(w, r)
			return
		}
		digest := apf.RequestDigest{User: scope.User, Info: info}
		if info.Verb == "list" || info.Watch {
			digest.List, digest.InitialEvents = listShape(info)
		}
		ticket, ok := h.Limiter.Begin(r.Context(), digest)
		ticket.SetHeaders(w.Header())
		if !ok {
			h.Logger.Info("request rejected", "id", scope.LogID(), "reason", ticket.Reason)
			h.metrics.terminate(h.Catalogue, r, info, http.StatusTooManyRequests)
			rejectRequest(w, ticket.RetryAfter())
			return
		}
		defer ticket.Done()
		if info.Watch {
			scope.InitialEventsSent = ticket.Done
		}
		next(w, r)
	}
}

// listShape returns the parameters that determine the cost of a list, and reports whether a
// watch begins with one. The verb refuses invalid parameters.
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

// limitByCount bounds how many requests are served at a time, and rejects more.
func (h *Handler) limitByCount(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		scope := request.From(r.Context())
		if scope.Info.IsLongRunning() {
			next(w, r)
			return
		}
		mutates, limit := apf.IsMutating(scope.Info.Verb), h.MaxRequestsInflight
		if mutates {
			limit = h.MaxMutatingRequestsInflight
		}
		defer h.Inflight.Done(mutates)
		// system:masters is exempt, so that an administrator can examine a busy server.
		if n := h.Inflight.Execute(mutates); limit > 0 && n > limit && !slices.Contains(scope.User.Groups, request.GroupMasters) {
			h.metrics.terminate(h.Catalogue, r, &scope.Info, http.StatusTooManyRequests)
			rejectRequest(w, 1)
			return
		}
		next(w, r)
	}
}

// rejectRequest writes a 429 in plain text, whatever the client accepts, like kube-apiserver.
func rejectRequest(w http.ResponseWriter, retryAfter int) {
	w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
}

// countWatch counts a watch for the estimated cost of writes, which wake it, until end is
// called.
func (h *Handler) countWatch(c *call, o *internalversion.ListOptions) (end func()) {
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
