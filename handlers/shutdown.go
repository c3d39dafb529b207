package handlers

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/request"
)

// shutdown is the progress of the end of a Handler.
type shutdown struct {
	// ending is cancelled by end when long-running requests end.
	ending context.Context
	end    context.CancelFunc

	mu sync.Mutex
	// watches is the number of watches, pace the rate at which they end; nil means at once.
	watches int
	pace    *rate.Limiter
	// unready is true once EndReadiness was called.
	unready bool
	// refusing is true once RefuseRequests was called. inFlight is the number of requests that are
	// not long-running, which is counted only for RefuseRequests; idle is closed when it is 0.
	refusing bool
	inFlight int
	idle     chan struct{}
}

func newShutdown() *shutdown {
	s := &shutdown{idle: make(chan struct{})}
	s.ending, s.end = context.WithCancel(context.Background())
	return s
}

// begun reports whether the shutdown has begun.
func (s *shutdown) begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unready || s.ending.Err() != nil
}

// EndReadiness makes /readyz fail, while all requests are still served.
func (h *Handler) EndReadiness() {
	h.shutdown.mu.Lock()
	defer h.shutdown.mu.Unlock()
	h.shutdown.unready = true
}

// RefuseRequests makes new requests fail with 429, except requests for health and metrics, so that clients
// try another server. It returns when the requests in flight that are not long-running have
// ended, or ctx is done. It has no effect unless Config.RetryDuringShutdown is set.
func (h *Handler) RefuseRequests(ctx context.Context) {
	if !h.RetryDuringShutdown {
		return
	}
	s := h.shutdown
	s.mu.Lock()
	s.refusing = true
	if s.inFlight == 0 {
		close(s.idle)
	}
	s.mu.Unlock()
	select {
	case <-s.idle:
	case <-ctx.Done():
	}
}

// leastPace is the minimum number of watches that end per second, as in kube-apiserver.
const leastPace = 200

// BeginShutdown makes /readyz fail, ends all long-running requests and refuses new ones. Other
// requests are still served. The ends of watches are spread over the grace period, so that
// not all of their clients begin again at the same time; a period of 0 ends them at once.
func (h *Handler) BeginShutdown(grace time.Duration) {
	s := h.shutdown
	s.mu.Lock()
	if grace > 0 {
		s.pace = rate.NewLimiter(max(leastPace, rate.Limit(float64(s.watches)/grace.Seconds())), 1)
	}
	s.mu.Unlock()
	s.end()
}

// endWatch calls end when the shutdown ends the watch. The watch calls done when it has ended.
func (s *shutdown) endWatch(ctx context.Context, end func()) (done func()) {
	s.mu.Lock()
	s.watches++
	s.mu.Unlock()
	forget := context.AfterFunc(s.ending, func() {
		s.mu.Lock()
		pace := s.pace
		s.mu.Unlock()
		if pace != nil {
			_ = pace.Wait(ctx) // fails if the watch ends before its turn
		}
		end()
	})
	return func() {
		forget()
		s.mu.Lock()
		s.watches--
		s.mu.Unlock()
	}
}

// refuseAfterDelay refuses new requests after RefuseRequests.
func (h *Handler) refuseAfterDelay(next http.HandlerFunc) http.HandlerFunc {
	if !h.RetryDuringShutdown {
		return next
	}
	s := h.shutdown
	return func(w http.ResponseWriter, r *http.Request) {
		if isServedDuringShutdown(r) {
			next(w, r)
			return
		}
		counts := !request.From(r.Context()).Info.IsLongRunning()
		s.mu.Lock()
		refusing := s.refusing
		if !refusing && counts {
			s.inFlight++
		}
		s.mu.Unlock()
		switch {
		case refusing:
			// The connection ends, so that the client opens one to another server.
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", "5")
			http.Error(w, "The apiserver is shutting down, please try again later.", http.StatusTooManyRequests)
			return
		case !counts:
			next(w, r)
			return
		}
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.inFlight--; s.inFlight == 0 && s.refusing {
				close(s.idle)
			}
		}()
		next(w, r)
	}
}

// isServedDuringShutdown reports whether a request is served until the end: health, metrics, and
// requests of API servers.
func isServedDuringShutdown(r *http.Request) bool {
	for _, path := range []string{"/metrics", "/healthz", "/livez", "/readyz"} {
		if strings.HasPrefix(r.URL.Path, path) {
			return true
		}
	}
	return strings.HasPrefix(r.UserAgent(), "kube-apiserver/")
}

// refuseDuringShutdown refuses long-running requests during shutdown.
func (h *Handler) refuseDuringShutdown(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if h.shutdown.ending.Err() != nil && request.From(r.Context()).Info.IsLongRunning() {
			h.responder.WriteError(w, r, apierrors.NewServiceUnavailable("the server is shutting down"))
			return
		}
		next(w, r)
	}
}
