package handlers

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/apf"
	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/handlers/proxy"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/request"
)

// auditID is the header that carries a request's audit ID, in requests and responses.
const auditID = "Audit-ID"

// identify gives the request its Scope and its ID: the client's ID if it sent one, otherwise a
// random one.
func (h *Handler) identify(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		growStack(r.Method)
		id := r.Header.Get(auditID)
		switch {
		case id != "":
		case h.Recorder != nil:
			id = request.NewOrderedUUID(time.Now()) // in whose order the lab keeps the requests
		default:
			id = request.NewUUID()
		}
		w.Header().Set(auditID, id)
		w.Header().Set("Cache-Control", "no-cache, private")
		next(w, r.WithContext(request.With(r.Context(), &request.Scope{ID: id})))
	}
}

// growStack grows the stack for a whole request at once, while there is little to move.
// Every HTTP/2 request begins in a new goroutine, whose small stack would otherwise be
// doubled and copied several times; that was an eighth of the cost of a get. A read fits into
// 8 KiB, of which each open watch has its own, and a write into 16 KiB. Larger stacks are no
// answer: they do not come from the cache of a processor.
func growStack(method string) {
	if method == http.MethodGet {
		growTo8()
		return
	}
	growTo16()
}

//go:noinline
func growTo8() {
	var room [5 << 10]byte
	runtime.KeepAlive(&room)
}

//go:noinline
func growTo16() {
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
			h.Logger.Error("panic while serving", "id", request.From(r.Context()).LogID(), "method", r.Method, "path",
				r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			if sw, ok := w.(*responseWriter); ok && sw.code != 0 {
				h.metrics.abort(h.Catalogue, r, &request.From(r.Context()).Info)
				panic(http.ErrAbortHandler) // the response has begun: close the connection
			}
			h.responder.WriteError(w, r,
				apierrors.NewInternalError(fmt.Errorf("this request caused apiserver to panic. Look in the logs for details")))
		}()
		next(w, r)
	}
}

// parse parses the request info from method and path.
func (h *Handler) parse(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		info := setInfo(r)
		if info.Err != nil {
			w.Header().Del("Cache-Control") // kube-apiserver sets it after this step
			internalError(w, r, fmt.Errorf("failed to create RequestInfo: %w", info.Err))
			return
		}
		next(w, r)
	}
}

// setInfo sets and returns the Info of a request. It is not inlined, because a copy of an Info takes half a kilobyte of stack (growStack).
//
//go:noinline
func setInfo(r *http.Request) *request.Info {
	scope := request.From(r.Context())
	scope.Info = request.Parse(r)
	return &scope.Info
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
		h.forbid(w, r, reason, err)
	}
}

// forbid refuses a request that was not allowed for a reason, or whose authorization failed with err.
func (h *Handler) forbid(w http.ResponseWriter, r *http.Request, reason string, err error) {
	scope := request.From(r.Context())
	recordRefusal(scope, request.RefusedByAuthorization, "")
	if err != nil {
		h.Logger.Error("authorization failed", "id", scope.LogID(), "error", err)
		internalError(w, r, err)
		return
	}
	h.writeRefusal(w, r, authz.Forbidden(scope.User, &scope.Info, reason))
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

// Seconds after which clients retry requests that the server refuses while it starts.
const (
	retryResource = 1
	retryPath     = 5
)

// refuseWhileStarting refuses requests for resources and for documents about them, with an
// error that clients retry, until the server is started. Health, metrics and the version are
// served before.
func (h *Handler) refuseWhileStarting(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case h.started.Load() || isServedWhileStarting(r.URL.Path):
			next(w, r)
		case request.From(r.Context()).Info.IsResource:
			h.responder.WriteError(w, r, apierrors.NewTooManyRequests("storage is (re)initializing", retryResource))
		default:
			err := apierrors.NewServiceUnavailable("the request has been made before all known HTTP paths have been installed, please try again")
			err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: retryPath}
			h.responder.WriteError(w, r, err)
		}
	}
}

// isServedWhileStarting reports whether a path does not depend on the caches.
func isServedWhileStarting(path string) bool {
	for _, root := range []string{"/healthz", "/livez", "/readyz", "/metrics", "/version", "/openid", "/.well-known", "/debug"} {
		if rest, ok := strings.CutPrefix(path, root); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// kube-apiserver's CORS response headers.
const (
	corsMethods = "POST, GET, OPTIONS, PUT, DELETE, PATCH"
	corsHeaders = "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since"
	corsExposed = "Date"
)

// allowOrigins adds CORS headers to responses to pages of the allowed origins and
// answers their preflight requests.
func (h *Handler) allowOrigins(next http.HandlerFunc) http.HandlerFunc {
	if len(h.AllowedOrigins) == 0 {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		if origin == "" || !h.allowsOrigin(origin) {
			next(w, r)
			return
		}
		header := w.Header()
		header.Set("Access-Control-Allow-Origin", origin)
		header.Set("Access-Control-Allow-Methods", corsMethods)
		header.Set("Access-Control-Allow-Headers", corsHeaders)
		header.Set("Access-Control-Expose-Headers", corsExposed)
		header.Set("Access-Control-Allow-Credentials", "true")
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next(w, r)
	}
}

func (h *Handler) allowsOrigin(origin string) bool {
	return slices.ContainsFunc(h.AllowedOrigins, func(re *regexp.Regexp) bool { return re.MatchString(origin) })
}

// refuseForeignUpgrades refuses WebSockets from pages of other origins. A browser lets
// any page open one and adds the client certificate of its user; a page cannot set the
// Origin header, nor add a bearer token to the request, by which other programs are known. A
// page that knows a token can send it as a subprotocol; it counts on a connection without a
// client certificate, whose user it then is.
func (h *Handler) refuseForeignUpgrades(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, origin := range r.Header["Origin"] {
			if proxy.WantsUpgrade(r) && !isSameOrigin(origin, r.Host) && !h.allowsOrigin(origin) && !hasBearerToken(r) {
				h.responder.WriteError(w, r, representation.NewStatusError(http.StatusForbidden, metav1.StatusReasonForbidden,
					fmt.Sprintf("forbidden: upgrade requests of the origin %q are not allowed", origin), &metav1.StatusDetails{}))
				return
			}
		}
		next(w, r)
	}
}

// hasBearerToken reports whether a request has a bearer token in its header Authorization, or in
// a subprotocol where no client certificate can be meant instead.
func hasBearerToken(r *http.Request) bool {
	if scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		return true
	}
	return r.TLS != nil && len(r.TLS.PeerCertificates) == 0 && authn.HasWebSocketToken(r)
}

// isSameOrigin reports whether an origin is the host to which the request was sent.
func isSameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}

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
		recordLimit(scope, ticket, ok)
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
			recordRefusal(scope, request.RefusedByFlowControl, "")
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
		for _, field := range c.Resource.Indexed {
			if value, ok := f.RequiresExactMatch(field); ok {
				selected.Value = value
			}
		}
	}
	return h.Limiter.CountWatch(c.info, selected)
}
