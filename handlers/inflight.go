package handlers

import (
	"net/http"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/request"
)

// inflight counts the requests being served, by whether they change something.
type inflight struct{ reading, mutating atomic.Int64 }

// limit bounds how many requests are served at a time. Watches do not count:
// they cost little while nothing happens, and there may be many.
func (h *Handler) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if longRunning(r) {
			next.ServeHTTP(w, r)
			return
		}
		count, most := &h.inflight.reading, h.MaxRequestsInflight
		if mutating(request.From(r.Context()).Info.Verb) {
			count, most = &h.inflight.mutating, h.MaxMutatingRequestsInflight
		}
		defer count.Add(-1)
		if n := count.Add(1); most > 0 && n > int64(most) && !masters(request.From(r.Context()).User) {
			h.fail(w, r, apierrors.NewTooManyRequests("Too many requests, please try again later.", 1))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func mutating(verb string) bool {
	switch verb {
	case "get", "list", "watch", "head", "options":
		return false
	}
	return true
}

// masters tells whether a user is exempt from limits, so that a server which is
// kept busy can still be looked at.
func masters(u *request.User) bool {
	for _, g := range u.Groups {
		if g == request.GroupMasters {
			return true
		}
	}
	return false
}
