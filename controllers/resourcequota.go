package controllers

import (
	"context"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	"github.com/miniapiserver/miniapiserver/admission/quota"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

const (
	quotasName = "resourcequota-controller"
	// quotaResync is how often all quotas are counted again, whatever is known of
	// changes.
	quotaResync = 5 * time.Minute
)

// quotas keep the status of quotas true: their limits as in spec, and as used
// what is there. Admission adds to that what it lets in; here it is counted, when
// a quota has changed and when something it counts has gone or become less.
type quotas struct {
	Config
	client   *Client
	resource *api.Resource
}

// objectName names an object of a resource that is known.
type objectName struct{ namespace, name string }

func newQuotas(c Config) Controller {
	if c.Ledger == nil {
		c.Ledger = quota.NewLedger()
	}
	q := &quotas{Config: c, client: newClient(c.Handler, "resourcequota-controller"), resource: c.served(corev1.SchemeGroupVersion, "resourcequotas")}
	if q.resource == nil {
		return nil
	}
	return &loop[objectName]{Config: c, name: quotasName, sync: q.sync, also: q.watchAll}
}

type quotaQueue = workqueue.TypedInterface[objectName]

// watchAll queues quotas until ctx is done.
func (q *quotas) watchAll(ctx context.Context, queue quotaQueue) {
	var wg sync.WaitGroup
	wg.Go(func() { recovery.Keep(ctx, q.Logger, quotasName, func() { q.again(ctx, queue) }) })
	everyKind{
		catalogue: q.Catalogue, log: q.Logger,
		wants: func(res *api.Resource) bool {
			return res.Namespaced && answers(res, api.VerbWatch) && !quota.Ignored(groupResource(res))
		},
		follow: func(ctx context.Context, res *api.Resource, _ known) { q.watch(ctx, queue, res, groupResource(res)) },
		gone:   func(*api.Resource, known) { q.count(ctx, queue, "") },
	}.run(ctx)
	wg.Wait()
}

func groupResource(res *api.Resource) schema.GroupResource {
	return schema.GroupResource{Group: res.Versions[0].Group, Resource: res.Name}
}

// watch counts the quotas of a namespace again when something there has become
// less. What is new, or changed by a client, has been charged by admission; but
// that a pod has come to its end is only told by its status.
func (q *quotas) watch(ctx context.Context, queue quotaQueue, res *api.Resource, gr schema.GroupResource) {
	changed := func(e storage.Event) {
		if e.Type == storage.Deleted || gr == corev1.Resource("pods") && e.Type == storage.Modified && ended(e.Item) {
			q.count(ctx, queue, e.Item.Namespace())
		}
	}
	anything := func() {}
	if res == q.resource {
		changed = func(e storage.Event) {
			if e.Type != storage.Deleted && !limitsInForce(e.Item) {
				queue.Add(objectName{e.Item.Namespace(), e.Item.Name()})
			}
		}
		anything = func() { q.count(ctx, queue, "") }
	}
	wake(ctx, q.Registry, res, changed, anything)
}

func ended(pod *storage.Item) bool {
	phase := corev1.PodPhase(pod.Fields()["status.phase"])
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}

// limitsInForce tells whether the status of a quota has the limits of its spec.
func limitsInForce(item *storage.Item) bool {
	obj, err := item.Object()
	if err != nil {
		return true // told of by the store
	}
	is := obj.(*corev1.ResourceQuota)
	return quota.Same(is.Spec.Hard, is.Status.Hard)
}

// count queues the quotas of a namespace, or all.
func (q *quotas) count(ctx context.Context, queue quotaQueue, namespace string) {
	t := registry.Target{Resource: q.resource, Version: &q.resource.Versions[0], Namespace: namespace}
	list, err := q.Registry.List(ctx, t, registry.ListOptions{Read: storage.Read{Match: storage.Any}})
	if err != nil {
		return // when all are counted again
	}
	for _, item := range list.Items {
		queue.Add(objectName{item.Namespace(), item.Name()})
	}
}

// again counts where admission charged for what was then not written, and from
// time to time everything.
func (q *quotas) again(ctx context.Context, queue quotaQueue) {
	tick := time.NewTicker(quotaResync)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case namespace := <-q.Ledger.Failed():
			q.count(ctx, queue, namespace)
		case <-tick.C:
			q.count(ctx, queue, "")
		}
	}
}

// sync counts one quota. The order matters: the quota and the charges under way
// are read as of one moment, and the quota is written only if it is still the
// same, so that a charge that comes in meanwhile is not lost; what is stored is
// read after that, and so has the objects of charges that have ended by then.
func (q *quotas) sync(ctx context.Context, key objectName) (verdict, error) {
	release := q.Ledger.Hold(key.namespace)
	obj, err := q.read(ctx, key)
	pending := q.Ledger.Pending(key.namespace)
	release()
	if apierrors.IsNotFound(err) {
		return done, nil
	}
	if err != nil {
		return done, err
	}
	is := obj.DeepCopyObject().(*corev1.ResourceQuota)
	count, err := q.usage(ctx, is, pending)
	if err != nil {
		return done, err
	}
	wanted := count.Status()
	if quota.Same(is.Status.Hard, wanted.Hard) && quota.Same(is.Status.Used, wanted.Used) {
		return done, nil
	}
	is.Status = wanted
	err = q.client.do(ctx, http.MethodPut, pathOf(q.resource, key.namespace, key.name)+"/status", "application/json", is, nil)
	return afterWrite(err)
}

func (q *quotas) read(ctx context.Context, key objectName) (api.Object, error) {
	item, err := q.Registry.Get(ctx, registry.Target{Resource: q.resource, Version: &q.resource.Versions[0], Namespace: key.namespace, Name: key.name}, storage.Read{})
	if err != nil {
		return nil, err
	}
	return item.Object()
}

// usage counts what is stored and, of what is under way, what is not.
func (q *quotas) usage(ctx context.Context, is *corev1.ResourceQuota, pending []*quota.Charge) (*quota.Count, error) {
	count := quota.NewCount(is, q.Now())
	for _, res := range q.Catalogue.Resources() {
		gr := groupResource(res)
		if !res.Namespaced || res.Virtual != nil || quota.Ignored(gr) || !count.Begin(gr) {
			continue
		}
		list, err := q.Registry.List(ctx, registry.Target{Resource: res, Version: &res.Versions[0], Namespace: is.Namespace}, registry.ListOptions{})
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
			if p.Resource == gr && !written(p, stored) {
				if err := count.Pending(p); err != nil {
					return nil, err
				}
			}
		}
	}
	return count, nil
}

// written tells whether what a charge is for is among what is stored.
func written(p *quota.Charge, stored map[string]string) bool {
	version, there := stored[p.Name]
	if p.Old == nil {
		return there
	}
	return version != p.Replaces
}
