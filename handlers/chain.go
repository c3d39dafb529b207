package handlers

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/request"
)

// auditID is the header that carries a request's id, both ways.
const auditID = "Audit-ID"

// identify gives the request its Scope and its id: the client's, if it sent one
// of a reasonable size, and else a random one.
func (h *Handler) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		growStack()
		id := r.Header.Get(auditID)
		if id == "" || len(id) > 64 {
			id = request.NewUUID()
		}
		w.Header().Set(auditID, id)
		w.Header().Set("Cache-Control", "no-cache, private")
		next.ServeHTTP(w, r.WithContext(request.With(r.Context(), &request.Scope{ID: id})))
	})
}

// growStack makes room on the stack for a whole request, at once and while there
// is little to move. Every request of HTTP/2 begins in a new goroutine, whose
// small stack would else be doubled and copied several times on the way down,
// deeper each time; that was an eighth of what a get costs.
//
//go:noinline
func growStack() {
	var room [12 << 10]byte
	runtime.KeepAlive(&room)
}

// recoverPanics turns a panic into a 500 for its request alone.
func (h *Handler) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler {
				panic(p)
			}
			h.Logger.Error("panic while serving", "id", request.From(r.Context()).ID, "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			if sw, ok := w.(*responseWriter); ok && sw.code != 0 {
				panic(http.ErrAbortHandler) // too late for an answer: cut the connection
			}
			h.fail(w, r, apierrors.NewInternalError(fmt.Errorf("this request caused apiserver to panic. Look in the logs for details")))
		}()
		next.ServeHTTP(w, r)
	})
}

// parse reads method and path once.
func (h *Handler) parse(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := request.Parse(r)
		request.From(r.Context()).Info = info
		if info.Err != nil {
			internalError(w, r, fmt.Errorf("failed to create RequestInfo: %w", info.Err))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// authorize asks whether the user may.
func (h *Handler) authorize(next http.Handler) http.Handler {
	authorizer := h.Authorizer
	if h.Decisions != nil {
		authorizer = h.Decisions.Attempts(authorizer)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scope := request.From(r.Context())
		decision, reason, err := authorizer.Authorize(r.Context(), scope.User, &scope.Info)
		if decision == authz.Allow {
			next.ServeHTTP(w, r)
			return
		}
		if err != nil {
			h.Logger.Error("authorization failed", "id", scope.ID, "error", err)
			internalError(w, r, err)
			return
		}
		h.fail(w, r, authz.Forbidden(scope.User, &scope.Info, reason))
	})
}

// internalError answers in plain text, for steps that come before there is a Status.
func internalError(w http.ResponseWriter, r *http.Request, err error) {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	http.Error(w, escape.Replace(fmt.Sprintf("Internal Server Error: %q: %v", r.URL.RequestURI(), err)), http.StatusInternalServerError)
}

// boundTime ends requests that take too long. Watches end by themselves.
func (h *Handler) boundTime(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if longRunning(r) {
			if !request.From(r.Context()).Info.IsResource {
				unbound(w) // a profile; resources have handlers that do
			}
			next.ServeHTTP(w, r)
			return
		}
		timeout, err := h.timeoutOf(r)
		if err != nil {
			h.fail(w, r, err)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// timeoutOf is the server's bound, or less where the client asks for less.
func (h *Handler) timeoutOf(r *http.Request) (time.Duration, error) {
	asked := query(r).Get("timeout")
	if asked == "" {
		return h.RequestTimeout, nil
	}
	d, err := time.ParseDuration(asked)
	if err != nil {
		return 0, apierrors.NewBadRequest("invalid timeout specified in the request URL - " + err.Error())
	}
	if d <= 0 || d > h.RequestTimeout {
		d = h.RequestTimeout
	}
	return d, nil
}

// refuseWhileEnding lets nothing that lasts begin during shutdown.
func (h *Handler) refuseWhileEnding(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.ending.Err() != nil && longRunning(r) {
			h.fail(w, r, apierrors.NewServiceUnavailable("the server is shutting down"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// longRunning tells of requests whose end is up to the client: watches, and
// those that are connected through to somewhere else.
func longRunning(r *http.Request) bool {
	info := &request.From(r.Context()).Info
	return info.Watch || connects(info)
}

// connects tells of requests that lead a client to a pod, a node or a service.
func connects(info *request.Info) bool {
	if !info.IsResource {
		return strings.HasPrefix(info.Path, "/debug/pprof/")
	}
	switch info.Subresource {
	case "attach", "exec", "proxy", "log", "portforward":
		return true
	}
	return info.Verb == "proxy"
}

func (h *Handler) logger(r *http.Request) *slog.Logger {
	return h.Logger.With("id", request.From(r.Context()).ID)
}
