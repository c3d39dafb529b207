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

// loop is what most controllers are: it follows objects, makes keys of what
// changed, and works the keys off. A key that is in the queue is there once.
type loop[K comparable] struct {
	Config
	name    string
	sources []source[K]
	// sync does what there is to do about a key, and says what is left.
	sync func(context.Context, K) (verdict, error)
	// also, when set, queues keys by other signs than sources, until ctx is done.
	also func(ctx context.Context, queue workqueue.TypedInterface[K])
	// workers is how many keys are worked on at a time; 0 means one.
	workers int
	// pace is how long after a failure a key is tried again; zero means quick.
	pace pace

	queue workqueue.TypedRateLimitingInterface[K] // made by Run
}

// source is objects that a controller follows, and the keys that a change of
// one of them means. A source without a resource has none.
type source[K comparable] struct {
	resource  *api.Resource
	namespace string
	fields    fields.Selector
	read      reader // nil: whole objects
	keys      func(change) []K
}

// verdict is what is left to do about a key: nothing, or to look again after
// that long.
type verdict time.Duration

const (
	done verdict = 0
	// soon is for what is not done and gives no sign when it can be; each time
	// it takes longer to look again.
	soon verdict = -1
)

// afterWrite is the verdict when an object was to be changed: if somebody else did
// that first, it is looked at again.
func afterWrite(err error) (verdict, error) {
	switch {
	case apierrors.IsNotFound(err):
		return done, nil
	case apierrors.IsConflict(err):
		return soon, nil
	}
	return done, err
}

// pace bounds how long after a failure a key is tried again: the first time, and
// at most.
type pace struct{ first, most time.Duration }

func quick() pace { return pace{5 * time.Millisecond, 10 * time.Second} }

// patient is for what others must change before it can succeed.
func patient() pace { return pace{200 * time.Millisecond, 1000 * time.Second} }

// Run implements Controller.
func (l *loop[K]) Run(ctx context.Context) {
	p := l.pace
	if p == (pace{}) {
		p = quick()
	}
	l.queue = workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[K](p.first, p.most),
		workqueue.TypedRateLimitingQueueConfig[K]{Name: l.name})
	defer context.AfterFunc(ctx, l.queue.ShutDown)()
	var wg sync.WaitGroup
	log := l.Logger.With("controller", l.name)
	keep := func(f func()) {
		wg.Go(func() { recovery.Keep(ctx, log, l.name, f) })
	}
	for _, s := range l.sources {
		if s.resource != nil {
			keep(func() { s.feed(ctx, l.Registry, l.queue) })
		}
	}
	if l.also != nil {
		keep(func() { l.also(ctx, l.queue) })
	}
	for range max(l.workers, 1) {
		keep(func() { work(ctx, log, l.queue, l.sync) })
	}
	wg.Wait()
}

// feed queues the keys of what changes until ctx is done.
func (s *source[K]) feed(ctx context.Context, reg *registry.Registry, queue workqueue.TypedInterface[K]) {
	t := registry.Target{Resource: s.resource, Version: &s.resource.Versions[0], Namespace: s.namespace}
	read := s.read
	if read == nil {
		read = (*storage.Item).Object
	}
	followAs(ctx, reg, t, registry.Selection{Fields: s.fields}, read, known{}, func(c change) {
		for _, key := range s.keys(c) {
			queue.Add(key)
		}
	})
}

// work takes keys from a queue until it is shut down.
func work[K comparable](ctx context.Context, log *slog.Logger, q workqueue.TypedRateLimitingInterface[K], sync func(context.Context, K) (verdict, error)) {
	for {
		key, shutdown := q.Get()
		if shutdown {
			return
		}
		left, err := attempt(ctx, log, key, sync)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			log.Info("controller will try again", "key", key, "error", err)
			q.AddRateLimited(key)
		case left == soon:
			q.AddRateLimited(key)
		default:
			q.Forget(key)
			if left > done {
				q.AddAfter(key, time.Duration(left))
			}
		}
		q.Done(key)
	}
}

// attempt calls sync. A panic is a failure like any other.
func attempt[K comparable](ctx context.Context, log *slog.Logger, key K, sync func(context.Context, K) (verdict, error)) (left verdict, err error) {
	defer recovery.Into(log, "a controller", &err)
	return sync(ctx, key)
}

// Keys of the most usual kinds.

func nameOf(c change) []string      { return []string{c.object.GetName()} }
func namespaceOf(c change) []string { return []string{c.object.GetNamespace()} }

// named selects by name.
func named(name string) fields.Selector { return fields.OneTermEqualSelector("metadata.name", name) }
