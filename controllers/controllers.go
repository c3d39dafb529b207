// Package controllers has the loops without which the API is not usable: they
// empty namespaces that are being deleted and collect what owners leave behind.
//
// A controller is a client like any other. It writes through the server's whole
// chain, over an in-memory transport and under the identity that
// kube-controller-manager's controller of that name has, so that authorization,
// admission, field management and conflicts hold for it too; and it reads from
// the caches that everybody reads from. It is level-triggered and idempotent:
// what it is woken for is only a hint, and what it does follows from the state
// that it finds.
//
// The nouns: a Controller has a name and runs; a Client sends its requests; a
// Set is the controllers of one server, ended together.
package controllers

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// Controller is one loop.
type Controller interface {
	// Name is by what it is turned off, and known in logs.
	Name() string
	// Run works until ctx is done.
	Run(ctx context.Context)
}

// Config is what controllers need. All fields but Logger must be set.
type Config struct {
	// Handler is the server's chain, which requests go through.
	Handler   http.Handler
	Registry  *registry.Registry
	Catalogue *api.Catalogue
	Logger    *slog.Logger
	Now       func() time.Time
}

// Set is a number of running controllers.
type Set struct {
	end context.CancelFunc
	wg  sync.WaitGroup
}

// Start runs all controllers but those that off names.
func Start(ctx context.Context, c Config, off ...string) *Set {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Set{}
	ctx, s.end = context.WithCancel(ctx)
	for _, controller := range []Controller{newNamespaces(c), newCollector(c)} {
		if !slices.Contains(off, controller.Name()) {
			s.wg.Go(func() { controller.Run(ctx) })
		}
	}
	return s
}

// Names are those of all controllers.
func Names() []string { return []string{namespacesName, collectorName} }

// Stop ends the controllers and returns when they have ended.
func (s *Set) Stop() {
	s.end()
	s.wg.Wait()
}

// Work that fails is tried again after these times.
const (
	firstRetry = 5 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// newQueue makes a queue that holds each key once.
func newQueue[K comparable](name string) workqueue.TypedRateLimitingInterface[K] {
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[K](firstRetry, lastRetry),
		workqueue.TypedRateLimitingQueueConfig[K]{Name: name})
}

// work takes keys from a queue until it is shut down. A key for which sync
// fails, or is not done, comes again later.
func work[K comparable](ctx context.Context, log *slog.Logger, q workqueue.TypedRateLimitingInterface[K], sync func(context.Context, K) (bool, error)) {
	for {
		key, shutdown := q.Get()
		if shutdown {
			return
		}
		done, err := sync(ctx, key)
		switch {
		case err != nil && ctx.Err() == nil:
			log.Info("controller will try again", "key", key, "error", err)
			q.AddRateLimited(key)
		case !done && ctx.Err() == nil:
			q.AddRateLimited(key)
		default:
			q.Forget(key)
		}
		q.Done(key)
	}
}
