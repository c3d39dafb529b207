package handlers

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/request"
)

// blocking is an authorizer that decides when its channel is closed.
type blocking struct {
	entered chan struct{}
	decide  chan struct{}
}

func (b blocking) Authorize(context.Context, *request.User, *request.Info) (authz.Decision, string, error) {
	b.entered <- struct{}{}
	<-b.decide
	return authz.Deny, "", nil
}

// TestRefuseRequests checks that RefuseRequests waits for requests in flight, and that later requests fail with
// 429, except requests for health and metrics.
func TestRefuseRequests(t *testing.T) {
	slow := blocking{make(chan struct{}, 10), make(chan struct{})}
	h := chainOnly(t, func(c *Config) { c.RetryDuringShutdown, c.Authorizer = true, slow })
	const path = "/api/v1/namespaces/ns/configmaps/x"
	var wg sync.WaitGroup
	wg.Go(func() {
		if w := through(h, httptest.NewRequest(http.MethodGet, path, nil)); w.Code != http.StatusForbidden {
			t.Errorf("the request in flight: %d, want 403", w.Code)
		}
	})
	<-slow.entered
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	h.RefuseRequests(cancelled) // returns although a request is in flight
	w := through(h, httptest.NewRequest(http.MethodGet, path, nil))
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "5" || w.Header().Get("Connection") != "close" ||
		w.Body.String() != "The apiserver is shutting down, please try again later.\n" {
		t.Errorf("a later request: %d %v %q", w.Code, w.Header(), w.Body)
	}
	if w := through(h, httptest.NewRequest(http.MethodGet, "/api/v1/configmaps?watch=1", nil)); w.Code != http.StatusTooManyRequests {
		t.Errorf("a later watch: %d, want 429", w.Code)
	}
	close(slow.decide)
	wg.Wait()
	select {
	case <-h.shutdown.idle:
	default:
		t.Error("the end of the last request in flight is not noticed")
	}
	for _, r := range []*http.Request{
		httptest.NewRequest(http.MethodGet, "/readyz", nil),
		httptest.NewRequest(http.MethodGet, "/metrics", nil),
	} {
		if w := through(h, r); w.Code == http.StatusTooManyRequests {
			t.Errorf("%s is refused", r.URL)
		}
	}
}

// TestRefuseRequestsWhileIdle checks that RefuseRequests does not wait if nothing is in flight, and does
// nothing if it is not configured.
func TestRefuseRequestsWhileIdle(t *testing.T) {
	for _, configured := range []bool{false, true} {
		h := chainOnly(t, func(c *Config) { c.RetryDuringShutdown = configured })
		h.RefuseRequests(t.Context())
		w := through(h, httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/ns/configmaps/x", nil), "Group", "others")
		if refused := strings.Contains(w.Body.String(), "shutting down"); refused != configured {
			t.Errorf("configured %t: %d %s", configured, w.Code, w.Body)
		}
	}
}

// TestWatchesEndOverTime checks the rate at which watches end.
func TestWatchesEndOverTime(t *testing.T) {
	for _, c := range []struct {
		watches int
		grace   time.Duration
		atLeast time.Duration
		atMost  time.Duration
	}{
		{1000, 0, 0, 0},
		{1000, time.Minute, 4 * time.Second, 6 * time.Second}, // 200 per second
		{3000, 5 * time.Second, 4 * time.Second, 6 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := &Handler{shutdown: newShutdown()}
			var ended atomic.Int64
			for range c.watches {
				ctx, cancel := context.WithCancel(t.Context())
				done := h.shutdown.endWatch(ctx, func() {
					ended.Add(1)
					cancel()
				})
				context.AfterFunc(ctx, done)
			}
			began := time.Now()
			h.BeginShutdown(c.grace)
			for synctest.Wait(); ended.Load() < int64(c.watches); synctest.Wait() {
				time.Sleep(10 * time.Millisecond)
			}
			if took := time.Since(began); took < c.atLeast || took > c.atMost {
				t.Errorf("%d watches with a grace period of %v ended within %v, want %v to %v", c.watches, c.grace, took, c.atLeast, c.atMost)
			}
			if h.shutdown.watches != 0 {
				t.Errorf("%d watches are left", h.shutdown.watches)
			}
		})
	}
}
