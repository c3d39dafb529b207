package handlers

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/request"
)

// auditID is the header that carries a request's audit ID, in requests and responses.
const auditID = "Audit-ID"

// identify gives the request its Scope and its ID: the client's ID if it sent one, otherwise a
// random one.
func (h *Handler) identify(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		growStack()
		id := r.Header.Get(auditID)
		if id == "" {
			id = request.NewUUID()
		}
		w.Header().Set(auditID, id)
		w.Header().Set("Cache-Control", "no-cache, private")
		next(w, r.WithContext(request.With(r.Context(), &request.Scope{ID: id})))
	}
}

// growStack grows the stack for a whole request at once, while there is little to move.
// Every HTTP/2 request begins in a new goroutine, whose small stack would otherwise be
// doubled and copied several times; that was an eighth of the cost of a get.
//
//go:noinline
func growStack() {
	var room [12 << 10]byte
	runtime.KeepAlive(&room)
}

// recoverPanics turns a panic into a 500 for its request alone.
func (h *Handler) recoverPanics(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler {
				h.metrics.abort(h.Catalogue, r, &request.From(r.Context()).Info)
				panic(p)
			}
			h.Logger.Error("panic while serving", "id", request.From(r.Context()).LogID(), "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			if sw, ok := w.(*responseWriter); ok && sw.code != 0 {
				h.metrics.abort(h.Catalogue, r, &request.From(r.Context()).Info)
				panic(http.ErrAbortHandler) // the response has begun: close the connection
			}
			h.responder.WriteError(w, r, apierrors.NewInternalError(fmt.Errorf("this request caused apiserver to panic. Look in the logs for details")))
		}()
		next(w, r)
	}
}

// parse parses the request info from method and path.
func (h *Handler) parse(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		info := request.Parse(r)
		request.From(r.Context()).Info = info
		if info.Err != nil {
			w.Header().Del("Cache-Control") // kube-apiserver sets it after this step
			internalError(w, r, fmt.Errorf("failed to create RequestInfo: %w", info.Err))
			return
		}
		next(w, r)
	}
}

// authorize asks the authorizer and refuses the request unless it is allowed.
func (h *Handler) authorize(next http.HandlerFunc) http.HandlerFunc {
	authorizer, filter := h.Authorizer, h.metrics.sizes.filters[filterAuthorization]
	if h.Decisions != nil {
		authorizer = h.Decisions.Attempts(authorizer)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		scope, start := request.From(r.Context()), time.Now()
		decision, reason, err := authorizer.Authorize(r.Context(), scope.User, &scope.Info)
		took := time.Since(start)
		filter.Observe(took.Seconds())
		if scope.Audit != nil {
			annotateDecision(scope, decision, reason, err)
			scope.Durations.Raise(request.PartAuthorization, took)
		}
		if decision == authz.Allow {
			next(w, r)
			return
		}
		if err != nil {
			h.Logger.Error("authorization failed", "id", scope.LogID(), "error", err)
			internalError(w, r, err)
			return
		}
		h.writeRefusal(w, r, authz.Forbidden(scope.User, &scope.Info, reason))
	}
}

// writeRefusal responds with an error of authorization or impersonation. The message contains text of
// the request, which a browser must not take for HTML.
func (h *Handler) writeRefusal(w http.ResponseWriter, r *http.Request, err error) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	h.responder.WriteError(w, r, err)
}

// internalError responds in plain text, for steps in which kube-apiserver writes no
// Status.
func internalError(w http.ResponseWriter, r *http.Request, err error) {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	http.Error(w, escape.Replace(fmt.Sprintf("Internal Server Error: %q: %v", r.URL.RequestURI(), err)), http.StatusInternalServerError)
}

// boundTime sets a deadline for requests that are not long-running. Watches have a
// timeout of their own.
func (h *Handler) boundTime(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		info := &request.From(r.Context()).Info
		if info.IsLongRunning() {
			if !info.IsResource {
				clearDeadlines(w) // a profile; the handlers of resources do this themselves
			}
			next(w, r)
			return
		}
		timeout, err := h.RequestTimeout, error(nil)
		if requested := info.Query.Get("timeout"); requested != "" {
			if timeout, err = h.boundedTimeout(requested); err != nil {
				h.responder.WriteError(w, r, err)
				return
			}
		}
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		next(w, r.WithContext(ctx))
	}
}

// boundedTimeout returns the timeout that the client asks for, at most RequestTimeout.
func (h *Handler) boundedTimeout(requested string) (time.Duration, error) {
	d, err := time.ParseDuration(requested)
	if err != nil {
		return 0, apierrors.NewBadRequest("invalid timeout specified in the request URL - " + err.Error())
	}
	if d <= 0 || d > h.RequestTimeout {
		d = h.RequestTimeout
	}
	return d, nil
}
