// Package reconcile has the machinery that all control loops share.
//
// A Loop follows the objects of its Sources, maps their changes to keys in a queue, and syncs
// each key until it is in the desired state. A Client sends the writes of a controller through
// the server's handler chain. BaseConfig has the parts of the server that controllers use, with
// methods that read objects from its caches.
//
//   - config.go, read.go: BaseConfig and its reads; client.go: Client.
//   - loop.go, queue.go: Loop and its queue; repairlimiter.go: a limit for loops that undo the changes of others.
//   - source.go, resourcefollower.go: changes of one resource, and of all resources.
//   - parallel.go: concurrent work on a list.
package reconcile

import (
	"context"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Loop is the common form of a controller: it follows objects, maps their changes to keys,
// and syncs the keys. A key is in the queue at most once.
type Loop[K comparable] struct {
	BaseConfig
	Name    string
	Sources []Source[K]
	// Sync brings the objects of a key into the desired state, and returns when to sync the
	// key again.
	Sync func(context.Context, K) (Result, error)
	// ExtraSource, if set, queues keys of other sources until ctx is done.
	ExtraSource func(ctx context.Context, queue Adder[K])
	// Workers is the number of concurrent syncs; 0 means one.
	Workers int
	// Backoff is the backoff of failed keys; zero means quickBackoff.
	Backoff BackoffRange

	// Queue is the queue of the loop, created by Run.
	Queue *Queue[K]
}

// Source is a selection of objects whose changes trigger syncs, with the keys to sync. A
// source without a resource is ignored, because that resource is not served.
type Source[K comparable] struct {
	Resource  *api.Resource
	Namespace string
	Fields    fields.Selector
	Read      ItemReader // nil means the decoded objects
	Keys      func(Change) []K
}

// Result is the time of the clock after which a key is synced again: that at which something in the object expires. A negative
// one other than Retry is the interval of a Poll.
type Result time.Duration

const (
	// Done means that only a change triggers the next sync.
	Done Result = 0
	// Retry is for a key that is not in the desired state and that no change will trigger.
	// It is synced with increasing delays.
	Retry Result = -1
)

// Poll has a key synced again after a time that is no expiry and passes by itself, whatever the clock shows. A move of the clock
// syncs the key too.
func Poll(d time.Duration) Result { return min(Result(-d), Retry-1) }

// AfterWrite returns the result of a sync that ended with a write. A deleted object is done,
// and a conflict is retried.
func AfterWrite(err error) (Result, error) {
	switch {
	case apierrors.IsNotFound(err):
		return Done, nil
	case apierrors.IsConflict(err):
		return Retry, nil
	}
	return Done, err
}

// BackoffRange is a range of retry delays, which grow exponentially from first to max.
type BackoffRange struct{ First, Max time.Duration }

// quickBackoff is the default backoff.
func quickBackoff() BackoffRange { return BackoffRange{5 * time.Millisecond, 10 * time.Second} }

// PatientBackoff is for syncs that fail until another component acts.
func PatientBackoff() BackoffRange { return BackoffRange{200 * time.Millisecond, 1000 * time.Second} }

// Run implements Controller.
func (l *Loop[K]) Run(ctx context.Context) {
	log := l.Logger.With("controller", l.Name)
	queue, unmeasure := l.newQueue(ctx, log)
	defer unmeasure()
	l.Queue = queue
	var wg sync.WaitGroup
	spawn := func(f func()) {
		wg.Go(func() { recovery.RestartOnPanic(ctx, log, l.Name, f) })
	}
	c := l.BaseConfig
	c.Logger = log
	var followers []*registry.Follower
	for _, s := range l.Sources {
		if s.Resource != nil {
			followers = append(followers, s.feed(ctx, c, queue))
		}
	}
	if l.Clock != nil {
		spawn(func() { queue.followClock(ctx) })
		defer l.Clock.Observe(queue.isIdle)()
	}
	if l.ExtraSource != nil {
		spawn(func() { l.ExtraSource(ctx, queue) })
	}
	<-ctx.Done()
	queue.end()
	wg.Wait()
	for _, f := range followers {
		f.Wait()
	}
}

// newQueue returns a queue of the loop, and a function that ends its measurement.
func (l *Loop[K]) newQueue(ctx context.Context, log *slog.Logger) (*Queue[K], func()) {
	now := l.Now
	if l.Clock != nil {
		now = time.Now
	}
	q := &Queue[K]{ctx: ctx, log: log, name: l.Name, clock: l.Clock, now: now, limit: max(l.Workers, 1), backoff: l.Backoff}
	if q.backoff == (BackoffRange{}) {
		q.backoff = quickBackoff()
	}
	q.sync = func(ctx context.Context, key K) { l.syncKey(ctx, q, key) }
	var unmeasure func()
	q.metrics, unmeasure = l.QueueMetrics.of(l.Name, q)
	return q, unmeasure
}

// feed queues the keys of changes until ctx is done.
func (s *Source[K]) feed(ctx context.Context, c BaseConfig, queue *Queue[K]) *registry.Follower {
	t := registry.Target{Resource: s.Resource, Version: &s.Resource.Versions[0], Namespace: s.Namespace}
	read := s.Read
	if read == nil {
		read = (*storage.Item).Object
	}
	return c.followObjectsAs(ctx, t, registry.Selection{Fields: s.Fields}, read, KnownUIDs{}, func(c Change) {
		for _, key := range s.Keys(c) {
			queue.Add(key)
		}
	})
}

// syncKey syncs a key of a queue.
func (l *Loop[K]) syncKey(ctx context.Context, q *Queue[K], key K) {
	if l.Registry != nil {
		ctx = l.Registry.BeforeRewind(ctx)
	}
	left, err := syncRecovering(ctx, q.log, key, l.Sync)
	switch {
	case ctx.Err() != nil:
	case l.Registry != nil && l.Registry.IsRewound(ctx):
		q.retry(key) // the sync may have read objects that the rewind replaced
	case err != nil:
		q.log.Info("sync failed, retrying", "key", key, "error", err)
		q.retry(key)
	case left == Retry:
		q.retry(key)
	default:
		q.forget(key)
		switch {
		case left > Done:
			q.AddAt(key, time.Duration(left))
		case left < Retry:
			q.AddPoll(key, -time.Duration(left))
		}
	}
}

// syncRecovering calls sync and returns a panic as an error.
func syncRecovering[K comparable](ctx context.Context, log *slog.Logger, key K,
	sync func(context.Context, K) (Result, error)) (left Result, err error) {
	defer recovery.Into(log, "a controller", &err)
	return sync(ctx, key)
}

// NameKey returns the name of the changed object as the key.
func NameKey(c Change) []string { return []string{c.Object.GetName()} }

// NamespaceKey returns the namespace of the changed object as the key.
func NamespaceKey(c Change) []string { return []string{c.Object.GetNamespace()} }

// ByName returns a selector for the object with the name.
func ByName(name string) fields.Selector { return fields.OneTermEqualSelector("metadata.name", name) }
