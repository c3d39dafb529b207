package handlers

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/metricset"
	"github.com/miniapiserver/miniapiserver/request"
)

// usualProxyHeaders returns the headers that most authenticating proxies use. They are
// always removed from requests, even if this server has no authenticating proxy.
func usualProxyHeaders() authn.ProxyHeaders {
	return authn.ProxyHeaders{
		Users: []string{"X-Remote-User"}, UIDs: []string{"X-Remote-Uid"},
		Groups: []string{"X-Remote-Group"}, Extra: []string{"X-Remote-Extra-"},
	}
}

// authenticate sets the user of the request. Requests without a valid credential end
// here.
func (h *Handler) authenticate(next http.HandlerFunc) http.HandlerFunc {
	usual := usualProxyHeaders()
	return func(w http.ResponseWriter, r *http.Request) {
		scope := request.From(r.Context())
		user, err := h.authenticatedUser(r)
		if err != nil {
			h.Logger.Info("authentication failed", "id", scope.LogID(), "error", err)
		}
		if user == nil {
			recordRefusal(scope, request.RefusedByAuthentication, "")
			h.closeUnauthenticated(w, r)
			h.auditUnauthenticated(w, r)
			h.responder.WriteError(w, r, apierrors.NewUnauthorized("Unauthorized"))
			return
		}
		scope.User = user
		// The verbosity of the log can change while the server runs.
		scope.Traced = scope.Traced || h.Tracer != nil || h.Logger.Enabled(r.Context(), levelSlow)
		r.Header.Del("Authorization") // later steps must not see the secret
		usual.Clear(r.Header)
		h.ProxyHeaders.Clear(r.Header)
		if user.Name == request.UserAnonymous || slices.Contains(user.Groups, request.GroupUnauthenticated) {
			h.closeUnauthenticated(w, r)
		}
		next(w, r)
	}
}

// authenticatedUser returns the authenticated user, or nil if there is no valid credential.
func (h *Handler) authenticatedUser(r *http.Request) (*request.User, error) {
	if h.Authenticator == nil {
		return nil, nil
	}
	start := time.Now()
	id, ok, err := h.Authenticator.Authenticate(r)
	result := resultSuccess
	switch {
	case err != nil:
		result = resultError
	case !ok:
		result = resultFailure
	default:
		h.metrics.authentication.counterOf(id.User.Name).Inc()
	}
	m := &h.metrics.authentication.results[result]
	m.attempts.Inc()
	took := time.Since(start)
	m.duration.Observe(took.Seconds())
	h.metrics.sizes.filters[filterAuthentication].Observe(took.Seconds())
	if h.Auditor != nil {
		request.From(r.Context()).Durations.Add(request.PartAuthentication, took)
	}
	if err != nil || !ok {
		return nil, err
	}
	request.From(r.Context()).Account.Fact("method", id.Method)
	return id.User, nil
}

// closeUnauthenticated closes the connection after the response to an unauthenticated HTTP/2
// request: over one HTTP/2 connection a client can cause much work at little cost.
func (h *Handler) closeUnauthenticated(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 2 && h.Gates.Enabled(features.UnauthenticatedHTTP2DOSMitigation) {
		w.Header().Set("Connection", "close")
	}
}

// Results of authentication, by which metrics are labelled.
const (
	resultSuccess = iota
	resultFailure
	resultError
)

// authenticationMetrics have kube-apiserver's names and labels.
type authenticationMetrics struct {
	results [3]struct {
		attempts prometheus.Counter
		duration prometheus.Observer
	}
	users map[string]prometheus.Counter
}

// Labels for users that have no counter of their own.
const (
	userByEmail = "email_id"
	userOther   = "other"
)

func newAuthenticationMetrics(set *metricset.Set) *authenticationMetrics {
	users := set.CounterVec("authenticated_user_requests",
		"[ALPHA] Counter of authenticated requests broken out by username.", "username")
	attempts := set.CounterVec("authentication_attempts", "[ALPHA] Counter of authenticated attempts.", "result")
	duration := set.NativeHistogramVec("authentication_duration_seconds",
		"[ALPHA] Authentication duration in seconds broken out by result.",
		prometheus.ExponentialBuckets(0.001, 2, 15), "result")
	m := &authenticationMetrics{users: map[string]prometheus.Counter{}}
	for result, label := range []string{resultSuccess: "success", resultFailure: "failure", resultError: "error"} {
		m.results[result].attempts = attempts.WithLabelValues(label)
		m.results[result].duration = duration.WithLabelValues(label)
	}
	for _, name := range []string{"admin", "client", "kube_proxy", "kubelet",
		"system:serviceaccount:kube-system:default", userByEmail, userOther} {
		m.users[name] = users.WithLabelValues(name)
	}
	return m
}

// counterOf returns the counter of a user's requests. Clients can authenticate as any number
// of users, so most share a counter.
func (m *authenticationMetrics) counterOf(user string) prometheus.Counter {
	if c, ok := m.users[user]; ok {
		return c
	}
	if strings.Contains(user, "@") {
		return m.users[userByEmail]
	}
	return m.users[userOther]
}
