package handlers

import (
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

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
