package apf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// The field managers that kube-apiserver uses when it maintains the objects (producer) and
// when it writes their status (consumer).
const (
	producerManager = "api-priority-and-fairness-config-producer-v1"
	consumerManager = "api-priority-and-fairness-config-consumer-v1"
)

const (
	// maintainEvery is the interval at which the objects are maintained.
	maintainEvery = time.Minute
	// statusPause is the minimum delay after which status updates that exceeded the rate
	// limit are retried.
	statusPause = 30 * time.Second
	// retryAfter is the delay before a failed operation is retried.
	retryAfter = time.Second
)

// Controller maintains the configuration objects: it creates missing ones, configures the
// limiter from them, and writes the status of flow schemas, which reports whether their
// level exists. It reads from the caches and is triggered by watches, so all servers of a
// cluster use the same objects.
type Controller struct {
	reg             *registry.Registry
	levels, schemas registry.Target
	limiter         *Limiter
	clock           Clock
	log             *slog.Logger
	written         statusWrites
}

// ControllerConfig configures a Controller. Registry and Catalogue are required.
type ControllerConfig struct {
	Registry  *registry.Registry
	Catalogue *api.Catalogue
	// Limiter is configured from the objects. Without it, as with plain limits on requests
	// in flight, the objects are maintained but their status is not.
	Limiter *Limiter
	Clock   Clock
	Logger  *slog.Logger
}

// NewController returns a Controller; see Run.
func NewController(c ControllerConfig) (*Controller, error) {
	k := &Controller{reg: c.Registry, limiter: c.Limiter, clock: c.Clock, log: c.Logger}
	if k.clock == nil {
		k.clock = systemClock{}
	}
	if k.log == nil {
		k.log = slog.New(slog.DiscardHandler)
	}
	for _, t := range []struct {
		to   *registry.Target
		name string
	}{{&k.levels, "prioritylevelconfigurations"}, {&k.schemas, "flowschemas"}} {
		var err error
		if *t.to, err = findTarget(c.Catalogue, flowcontrolv1.SchemeGroupVersion, t.name); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// findTarget returns the target of a resource, even if it is not served to clients.
func findTarget(c *api.Catalogue, gv schema.GroupVersion, name string) (registry.Target, error) {
	for _, r := range c.Resources() {
		if v := r.Version(gv); v != nil && r.Name == name {
			return registry.Target{Resource: r, Version: v}, nil
		}
	}
	return registry.Target{}, fmt.Errorf("no resource %s in the catalogue", name)
}

// asServer returns a context with the server's own user.
func (k *Controller) asServer(ctx context.Context) context.Context {
	return request.With(ctx, &request.Scope{User: &request.User{
		Name: request.UserAPIServer, Groups: []string{request.GroupMasters},
	}})
}

// Run maintains the objects and follows their changes until ctx is done.
func (k *Controller) Run(ctx context.Context) {
	changed := make(chan struct{}, 1)
	following, end := context.WithCancel(ctx)
	levels, schemas := k.follow(following, k.levels, changed), k.follow(following, k.schemas, changed)
	defer func() {
		end()
		levels.Wait()
		schemas.Wait()
	}()
	maintain := k.newTimer(maintainEvery)
	defer maintain.stop()
	again := k.newTimer(0)
	defer func() { again.stop() }()
	for {
		select {
		case <-ctx.Done():
			return
		case <-maintain.c:
			maintain.stop()
			maintain = k.newTimer(maintainEvery)
			if err := k.Ensure(ctx); err != nil && ctx.Err() == nil {
				k.log.Info("maintaining flow control objects failed", "error", err)
			}
		case <-changed:
		case <-again.c:
		}
		later, err := k.reconcile(ctx)
		if err != nil && ctx.Err() == nil {
			k.log.Info("configuring flow control failed", "error", err)
			later = retryAfter
		}
		again.stop()
		again = oneShotTimer{}
		if later > 0 {
			again = k.newTimer(later)
		}
	}
}

// oneShotTimer is a one-shot timer on the controller's clock.
type oneShotTimer struct {
	c      chan struct{}
	cancel func() bool
}

func (k *Controller) newTimer(d time.Duration) oneShotTimer {
	c := make(chan struct{}, 1)
	return oneShotTimer{c, k.clock.AfterFunc(d, func() { c <- struct{}{} })}
}

func (t oneShotTimer) stop() {
	if t.cancel != nil {
		t.cancel()
	}
}

// follow signals on changed when objects of a resource may have changed.
func (k *Controller) follow(ctx context.Context, t registry.Target, changed chan<- struct{}) *registry.Follower {
	o := registry.WatchOptions{WatchOptions: storage.WatchOptions{Initial: true}}
	return k.reg.Follow(ctx, k.log, t, o, func() {}, func([]storage.Event) {
		select {
		case changed <- struct{}{}:
		default: // a signal is pending
		}
	})
}

// Configure configures the limiter from the current objects.
func (k *Controller) Configure(ctx context.Context) error {
	_, _, err := k.configure(ctx)
	return err
}

func (k *Controller) configure(ctx context.Context) (levels []*flowcontrolv1.PriorityLevelConfiguration,
	schemas []*flowcontrolv1.FlowSchema, err error) {
	if levels, err = listObjects[*flowcontrolv1.PriorityLevelConfiguration](ctx, k.reg, k.levels); err != nil {
		return nil, nil, err
	}
	if schemas, err = listObjects[*flowcontrolv1.FlowSchema](ctx, k.reg, k.schemas); err != nil {
		return nil, nil, err
	}
	if k.limiter != nil {
		k.limiter.Configure(schemas, levels)
	}
	return levels, schemas, nil
}

// reconcile configures the limiter and updates the status of flow schemas. It returns the delay
// after which it must be called again, or 0.
func (k *Controller) reconcile(ctx context.Context) (time.Duration, error) {
	ctx = k.asServer(ctx)
	levels, schemas, err := k.configure(ctx)
	if err != nil || k.limiter == nil {
		return 0, err
	}
	known := map[string]bool{}
	for _, l := range levels {
		known[l.Name] = validateLevel(l) == nil
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

// listObjects returns the current objects of a resource.
func listObjects[T api.Object](ctx context.Context, reg *registry.Registry, t registry.Target) ([]T, error) {
	list, err := reg.List(ctx, t, registry.ListOptions{})
	if err != nil {
		return nil, err
	}
	var out []T
	for _, item := range list.Items {
		if obj, err := item.Object(); err == nil { // the store has logged it
			out = append(out, obj.(T))
		}
	}
	return out, nil
}
