package controllers

import (
	"context"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/util/workqueue"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// loop is the common form of a controller: it follows objects, maps their changes to keys,
// and syncs the keys. A key is in the queue at most once.
type loop[K comparable] struct {
	Config
	name    string
	sources []source[K]
	// sync brings the objects of a key into the desired state, and returns when to sync the
	// key again.
	sync func(context.Context, K) (syncResult, error)
	// extraSource, if set, queues keys of other sources until ctx is done.
	extraSource func(ctx context.Context, queue workqueue.TypedInterface[K])
	// workers is the number of concurrent syncs; 0 means one.
	workers int
	// backoff is the backoff of failed keys; zero means quickBackoff.
	backoff backoffRange

	queue workqueue.TypedRateLimitingInterface[K] // made by Run
}

// source is a selection of objects whose changes trigger syncs, with the keys to sync. A
// source without a resource is ignored, because that resource is not served.
type source[K comparable] struct {
	resource  *api.Resource
	namespace string
	fields    fields.Selector
	read      itemReader // nil means the decoded objects
	keys      func(objectChange) []K
}

// syncResult is the time after which a key is synced again; resultDone means that only a change
// triggers the next sync.
type syncResult time.Duration

const (
	resultDone syncResult = 0
	// resultRetry is for a key that is not in the desired state and that no change will
	// trigger. It is synced with increasing delays.
	resultRetry syncResult = -1
)

// afterWrite returns the result of a sync that ended with a write. A deleted object is done,
// and a conflict is retried.
func afterWrite(err error) (syncResult, error) {
	switch {
	case apierrors.IsNotFound(err):
		return resultDone, nil
	case apierrors.IsConflict(err):
		return resultRetry, nil
	}
	return resultDone, err
}

// backoffRange is a range of retry delays, which grow exponentially from first to max.
type backoffRange struct{ first, max time.Duration }

func quickBackoff() backoffRange { return backoffRange{5 * time.Millisecond, 10 * time.Second} }

// patientBackoff is for syncs that fail until another component acts.
func patientBackoff() backoffRange { return backoffRange{200 * time.Millisecond, 1000 * time.Second} }

// Run implements Controller.
func (l *loop[K]) Run(ctx context.Context) {
	p := l.backoff
	if p == (backoffRange{}) {
		p = quickBackoff()
	}
	l.queue = workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[K](p.first, p.max),
		workqueue.TypedRateLimitingQueueConfig[K]{Name: l.name})
	defer context.AfterFunc(ctx, l.queue.ShutDown)()
	var wg sync.WaitGroup
	log := l.Logger.With("controller", l.name)
	spawn := func(f func()) {
		wg.Go(func() { recovery.RestartOnPanic(ctx, log, l.name, f) })
	}
	for _, s := range l.sources {
		if s.resource != nil {
			spawn(func() { s.feed(ctx, l.Registry, l.queue) })
		}
	}
	if l.extraSource != nil {
		spawn(func() { l.extraSource(ctx, l.queue) })
	}
	for range max(l.workers, 1) {
		spawn(func() { processQueue(ctx, log, l.queue, l.sync) })
	}
	wg.Wait()
}

// feed queues the keys of changes until ctx is done.
func (s *source[K]) feed(ctx context.Context, reg *registry.Registry, queue workqueue.TypedInterface[K]) {
	t := registry.Target{Resource: s.resource, Version: &s.resource.Versions[0], Namespace: s.namespace}
	read := s.read
	if read == nil {
		read = (*storage.Item).Object
	}
	followObjectsAs(ctx, reg, t, registry.Selection{Fields: s.fields}, read, knownUIDs{}, func(c objectChange) {
		for _, key := range s.keys(c) {
			queue.Add(key)
		}
	})
}

// processQueue syncs keys from a queue until it is shut down.
func processQueue[K comparable](ctx context.Context, log *slog.Logger, q workqueue.TypedRateLimitingInterface[K], sync func(context.Context, K) (syncResult, error)) {
	for {
		key, shutdown := q.Get()
		if shutdown {
			return
		}
		left, err := syncRecovering(ctx, log, key, sync)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			log.Info("sync failed, retrying", "key", key, "error", err)
			q.AddRateLimited(key)
		case left == resultRetry:
			q.AddRateLimited(key)
		default:
			q.Forget(key)
			if left > resultDone {
				q.AddAfter(key, time.Duration(left))
			}
		}
		q.Done(key)
	}
}

// syncRecovering calls sync and returns a panic as an error.
func syncRecovering[K comparable](ctx context.Context, log *slog.Logger, key K, sync func(context.Context, K) (syncResult, error)) (left syncResult, err error) {
	defer recovery.Into(log, "a controller", &err)
	return sync(ctx, key)
}

// Common functions for source.keys.

func nameKey(c objectChange) []string      { return []string{c.object.GetName()} }
func namespaceKey(c objectChange) []string { return []string{c.object.GetNamespace()} }

// byName returns a selector for the object with the name.
func byName(name string) fields.Selector { return fields.OneTermEqualSelector("metadata.name", name) }
