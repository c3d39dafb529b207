package controllers

import (
	"context"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/admission/quota"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

const (
	quotaControllerName = "resourcequota-controller"
	// quotaResync is the interval at which all quotas are counted.
	quotaResync = 5 * time.Minute
)

// quotaController maintains the status of quotas: the limits of the spec, and the current usage.
// Admission adds the usage of new objects; the controller counts when a quota changes and
// when usage decreases.
type quotaController struct {
	Config
	client   *reconcile.Client
	resource *api.Resource
}

// objectName is the key of an object.
type objectName struct{ namespace, name string }

func newQuotaController(c Config) Controller {
	if c.Ledger == nil {
		c.Ledger = quota.NewLedger()
	}
	q := &quotaController{Config: c, client: reconcile.NewClient(c.Handler, "resourcequota-controller"),
		resource: c.Served(corev1.SchemeGroupVersion, "resourcequotas")}
	if q.resource == nil {
		return nil
	}
	return &reconcile.Loop[objectName]{BaseConfig: c.BaseConfig, Name: quotaControllerName, Sync: q.sync, ExtraSource: q.watchAll}
}

type quotaQueue = reconcile.Adder[objectName]

// watchAll queues quotas until ctx is done.
func (q *quotaController) watchAll(ctx context.Context, queue quotaQueue) {
	var wg sync.WaitGroup
	wg.Go(func() {
		recovery.RestartOnPanic(ctx, q.Logger, quotaControllerName, func() { q.recountLoop(ctx, queue) })
	})
	reconcile.ResourceFollower{
		Catalogue: q.Catalogue,
		Wants: func(res *api.Resource) bool {
			return res.Namespaced && reconcile.SupportsVerb(res, api.VerbWatch) && !quota.Ignored(res.GroupResource())
		},
		Follow: func(ctx context.Context, res *api.Resource, _ reconcile.KnownUIDs) (wait func()) {
			return q.watch(ctx, queue, res, res.GroupResource()).Wait
		},
		Removed: func(*api.Resource, reconcile.KnownUIDs) { q.queueQuotas(ctx, queue, "") },
	}.Run(ctx)
	wg.Wait()
}

// watch queues the quotas of a namespace when usage there changes. Admission has charged for
// creations and for what updates add; it does not release what updates and reports of a status free,
// such as the end of a pod.
func (q *quotaController) watch(ctx context.Context, queue quotaQueue, res *api.Resource, gr schema.GroupResource) *registry.Follower {
	changed := func(e storage.Event) {
		if e.Type == storage.Deleted || e.Type == storage.Modified && quota.HasVariableUsage(gr) && q.affects(ctx, gr, e) {
			q.queueQuotas(ctx, queue, e.Item.Namespace())
		}
	}
	anything := func() {}
	if res == q.resource {
		changed = func(e storage.Event) {
			if e.Type != storage.Deleted && !hasCurrentLimits(e.Item) {
				queue.Add(objectName{e.Item.Namespace(), e.Item.Name()})
			}
		}
		anything = func() { q.queueQuotas(ctx, queue, "") }
	}
	return q.WatchChanges(ctx, res, changed, anything)
}

// affects reports whether the namespace of a changed object has quotas whose used amounts the change
// can change.
func (q *quotaController) affects(ctx context.Context, gr schema.GroupResource, e storage.Event) bool {
	if quotas, err := q.quotasIn(ctx, e.Item.Namespace()); err != nil || len(quotas) == 0 || e.Previous == nil {
		return false
	}
	obj, err := e.Item.Object()
	if err != nil {
		return true // its usage is unknown
	}
	old, err := e.Previous.Object()
	return err != nil || quota.Affects(gr, old, obj, q.Now(), quota.ExclusionsOf(q.Gates))
}

// hasCurrentLimits reports whether the status of a quota has the limits of its spec.
func hasCurrentLimits(item *storage.Item) bool {
	obj, err := item.Object()
	if err != nil {
		return true // the store has logged it
	}
	is := obj.(*corev1.ResourceQuota)
	return quota.Same(is.Spec.Hard, is.Status.Hard)
}

// queueQuotas queues the quotas of a namespace, or all quotas if namespace is empty.
func (q *quotaController) queueQuotas(ctx context.Context, queue quotaQueue, namespace string) {
	quotas, err := q.quotasIn(ctx, namespace)
	if err != nil {
		return // the next resync counts them
	}
	for _, item := range quotas {
		queue.Add(objectName{item.Namespace(), item.Name()})
	}
}

// quotasIn returns the cached quotas of a namespace, or all if namespace is empty.
func (q *quotaController) quotasIn(ctx context.Context, namespace string) ([]*storage.Item, error) {
	t := registry.Target{Resource: q.resource, Version: &q.resource.Versions[0], Namespace: namespace}
	list, err := q.Registry.List(ctx, t, registry.ListOptions{Read: storage.Read{Match: storage.Any}})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// recountLoop queues the quotas of namespaces in which a charged write failed, and periodically
// all quotas.
func (q *quotaController) recountLoop(ctx context.Context, queue quotaQueue) {
	tick := time.NewTicker(quotaResync)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case namespace := <-q.Ledger.Failed():
			q.queueQuotas(ctx, queue, namespace)
		case <-tick.C:
			q.queueQuotas(ctx, queue, "")
		case <-q.Clock.Changed(): // pods may be past their grace period
			q.queueQuotas(ctx, queue, "")
		}
	}
}

// sync counts one quota. The order prevents lost charges: the quota and the pending charges
// are read atomically, the objects are read afterwards, so they include those of charges
// that ended meanwhile, and the status is written only if the quota is unchanged.
func (q *quotaController) sync(ctx context.Context, key objectName) (reconcile.Result, error) {
	release := q.Ledger.Hold(key.namespace)
	obj, err := q.read(ctx, key)
	pending := q.Ledger.Pending(key.namespace)
	release()
	if apierrors.IsNotFound(err) {
		return reconcile.Done, nil
	}
	if err != nil {
		return reconcile.Done, err
	}
	is := obj.DeepCopyObject().(*corev1.ResourceQuota)
	count, err := q.usage(ctx, is, pending)
	if err != nil {
		return reconcile.Done, err
	}
	wanted := count.Status()
	if quota.Same(is.Status.Hard, wanted.Hard) && quota.Same(is.Status.Used, wanted.Used) {
		return reconcile.Done, nil
	}
	is.Status = wanted
	err = q.client.Do(ctx, http.MethodPut, reconcile.ObjectPath(q.resource, key.namespace, key.name)+"/status", "application/json", is, nil)
	return reconcile.AfterWrite(err)
}

func (q *quotaController) read(ctx context.Context, key objectName) (api.Object, error) {
	item, err := q.Registry.Get(ctx, registry.Target{Resource: q.resource, Version: &q.resource.Versions[0],
		Namespace: key.namespace, Name: key.name}, storage.Read{})
	if err != nil {
		return nil, err
	}
	return item.Object()
}

// usage counts the stored objects and the pending charges whose objects are not stored yet.
func (q *quotaController) usage(ctx context.Context, is *corev1.ResourceQuota, pending []*quota.Charge) (*quota.Count, error) {
	count := quota.NewCount(is, q.Now(), quota.ExclusionsOf(q.Gates))
	for _, res := range q.Catalogue.Resources() {
		gr := res.GroupResource()
		if !res.Namespaced || res.Virtual != nil || quota.Ignored(gr) || !count.Begin(gr) {
			continue
		}
		list, err := q.Registry.List(ctx,
			registry.Target{Resource: res, Version: &res.Versions[0], Namespace: is.Namespace}, registry.ListOptions{})
		if err != nil {
			return nil, err
		}
		stored := make(map[string]string, len(list.Items))
		for _, item := range list.Items {
			obj, err := item.Object()
			if err != nil {
				return nil, err
			}
			if err := count.Object(gr, obj); err != nil {
				return nil, err
			}
			stored[obj.GetName()] = obj.GetResourceVersion()
		}
		for _, p := range pending {
			if p.Resource == gr && !isChargeStored(p, stored) {
				if err := count.Pending(p); err != nil {
					return nil, err
				}
			}
		}
	}
	return count, nil
}

// isChargeStored reports whether the object of a charge is stored.
func isChargeStored(p *quota.Charge, stored map[string]string) bool {
	version, there := stored[p.Name]
	if p.Old == nil {
		return there
	}
	return version != p.Replaces
}
