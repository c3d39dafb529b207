package apf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// The names under which kube-apiserver owns what it writes: as the one who
// provides the configuration objects, and as the one who goes by them.
const (
	producer = "api-priority-and-fairness-config-producer-v1"
	consumer = "api-priority-and-fairness-config-consumer-v1"
)

const (
	// maintainEvery is how often the objects are looked after.
	maintainEvery = time.Minute
	// statusPause is the least time after which status that was written too
	// often is looked at again.
	statusPause = 30 * time.Second
	// retryAfter is when something that failed is tried again.
	retryAfter = time.Second
)

// Keeper looks after the configuration objects: those that must be there are,
// the limiter does what they say, and a flow schema's status tells whether it
// leads anywhere. It reads from the caches and is woken by watches, so that all
// servers of a cluster follow the same objects.
type Keeper struct {
	reg             *registry.Registry
	levels, schemas registry.Target
	limiter         *Limiter
	clock           Clock
	log             *slog.Logger
	written         statusWrites
}

// KeeperConfig is what a Keeper needs. Registry and Catalogue must be set.
type KeeperConfig struct {
	Registry  *registry.Registry
	Catalogue *api.Catalogue
	// Limiter goes by the configuration. A server without one, with plain limits,
	// maintains the objects all the same, but does not judge them.
	Limiter *Limiter
	Clock   Clock
	Logger  *slog.Logger
}

// NewKeeper makes a Keeper.
func NewKeeper(c KeeperConfig) (*Keeper, error) {
	k := &Keeper{reg: c.Registry, limiter: c.Limiter, clock: c.Clock, log: c.Logger}
	if k.clock == nil {
		k.clock = wallClock{}
	}
	if k.log == nil {
		k.log = slog.New(slog.DiscardHandler)
	}
	for _, t := range []struct {
		to   *registry.Target
		name string
	}{{&k.levels, "prioritylevelconfigurations"}, {&k.schemas, "flowschemas"}} {
		var err error
		if *t.to, err = target(c.Catalogue, flowcontrolv1.SchemeGroupVersion, t.name); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// target finds a resource, whether clients are offered it or not.
func target(c *api.Catalogue, gv schema.GroupVersion, name string) (registry.Target, error) {
	for _, r := range c.Resources() {
		if v := r.Version(gv); v != nil && r.Name == name {
			return registry.Target{Resource: r, Version: v}, nil
		}
	}
	return registry.Target{}, fmt.Errorf("the catalogue has no %s", name)
}

// asServer is a context of the server itself.
func (k *Keeper) asServer(ctx context.Context) context.Context {
	return request.With(ctx, &request.Scope{User: &request.User{
		Name: request.UserAPIServer, Groups: []string{request.GroupMasters},
	}})
}

// Run follows the objects and looks after them until ctx is done.
func (k *Keeper) Run(ctx context.Context) {
	changed := make(chan struct{}, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, t := range []registry.Target{k.levels, k.schemas} {
		wg.Go(func() {
			recovery.Keep(ctx, k.log, "following flow control", func() { k.follow(ctx, t, changed) })
		})
	}
	maintain := k.tick(maintainEvery)
	defer maintain.stop()
	again := k.tick(0)
	defer func() { again.stop() }()
	for {
		select {
		case <-ctx.Done():
			return
		case <-maintain.c:
			maintain.stop()
			maintain = k.tick(maintainEvery)
			if err := k.Ensure(ctx); err != nil && ctx.Err() == nil {
				k.log.Info("flow control objects could not be maintained", "error", err)
			}
		case <-changed:
		case <-again.c:
		}
		later, err := k.sync(ctx)
		if err != nil && ctx.Err() == nil {
			k.log.Info("flow control could not be configured", "error", err)
			later = retryAfter
		}
		again.stop()
		again = tick{}
		if later > 0 {
			again = k.tick(later)
		}
	}
}

// tick fires once, on the keeper's clock.
type tick struct {
	c    chan struct{}
	halt func() bool
}

func (k *Keeper) tick(d time.Duration) tick {
	c := make(chan struct{}, 1)
	return tick{c, k.clock.AfterFunc(d, func() { c <- struct{}{} })}
}

func (t tick) stop() {
	if t.halt != nil {
		t.halt()
	}
}

// follow says on changed that objects of a resource may have changed.
func (k *Keeper) follow(ctx context.Context, t registry.Target, changed chan<- struct{}) {
	for ctx.Err() == nil {
		err := k.followOnce(ctx, t, changed)
		if ctx.Err() == nil {
			k.log.Debug("watch of flow control objects ended", "resource", t.Resource.Name, "error", err)
			pause := k.tick(retryAfter)
			select {
			case <-ctx.Done():
			case <-pause.c:
			}
			pause.stop()
		}
	}
}

func (k *Keeper) followOnce(ctx context.Context, t registry.Target, changed chan<- struct{}) error {
	w, err := k.reg.Watch(ctx, t, registry.WatchOptions{WatchOptions: storage.WatchOptions{Initial: true}})
	if err != nil {
		return err
	}
	defer w.Stop()
	for {
		if _, err := w.Next(ctx); err != nil {
			return err
		}
		select {
		case changed <- struct{}{}:
		default: // it is said already
		}
	}
}

// Configure has the limiter go by the objects that there are now.
func (k *Keeper) Configure(ctx context.Context) error {
	_, _, err := k.configure(ctx)
	return err
}

func (k *Keeper) configure(ctx context.Context) (levels []*flowcontrolv1.PriorityLevelConfiguration, schemas []*flowcontrolv1.FlowSchema, err error) {
	if levels, err = listOf[*flowcontrolv1.PriorityLevelConfiguration](ctx, k.reg, k.levels); err != nil {
		return nil, nil, err
	}
	if schemas, err = listOf[*flowcontrolv1.FlowSchema](ctx, k.reg, k.schemas); err != nil {
		return nil, nil, err
	}
	if k.limiter != nil {
		k.limiter.Configure(schemas, levels)
	}
	return levels, schemas, nil
}

// sync has the limiter go by the objects, and writes the status of those flow
// schemas that say otherwise. It returns after what time to come again, if at
// all.
func (k *Keeper) sync(ctx context.Context) (time.Duration, error) {
	ctx = k.asServer(ctx)
	levels, schemas, err := k.configure(ctx)
	if err != nil || k.limiter == nil {
		return 0, err
	}
	known := map[string]bool{}
	for _, l := range levels {
		known[l.Name] = sound(l) == nil
	}
	updates, wait := k.statusUpdates(schemas, known)
	var errs []error
	for _, u := range updates {
		errs = append(errs, k.writeStatus(ctx, u))
	}
	if wait {
		return statusPause + rand.N(statusPause), errors.Join(errs...)
	}
	return 0, errors.Join(errs...)
}

// listOf reads all objects of a resource as they are now.
func listOf[T api.Object](ctx context.Context, reg *registry.Registry, t registry.Target) ([]T, error) {
	list, err := reg.List(ctx, t, registry.ListOptions{})
	if err != nil {
		return nil, err
	}
	var out []T
	for _, item := range list.Items {
		if obj, err := item.Object(); err == nil { // else told of by the store
			out = append(out, obj.(T))
		}
	}
	return out, nil
}
