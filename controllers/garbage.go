package controllers

import (
	"context"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

const collectorName = "garbage-collector-controller"

// collector deletes objects whose owners are gone, and lets owners go that wait
// for what they own. It follows all resources and keeps, as a hint, who owns
// whom; what it does it decides on the live objects.
type collector struct {
	Config
	client *Client
	graph  *graph
	loop   *loop[types.UID]
}

// collectors is how many objects are looked at at a time.
const collectors = 4

func newCollector(c Config) Controller {
	g := &collector{Config: c, client: newClient(c.Handler, "generic-garbage-collector"), graph: newGraph()}
	g.loop = &loop[types.UID]{Config: c, name: collectorName, sync: g.sync, also: g.watchAll, workers: collectors}
	return g.loop
}

// watchAll queues what changes concern until ctx is done.
func (g *collector) watchAll(ctx context.Context, queue workqueue.TypedInterface[types.UID]) {
	note := func(c change) {
		for _, uid := range g.graph.note(c) {
			queue.Add(uid)
		}
	}
	everyKind{
		log:       g.Logger,
		catalogue: g.Catalogue,
		wants: func(res *api.Resource) bool {
			return answers(res, api.VerbDelete) && answers(res, api.VerbWatch) && !res.Expires
		},
		follow: func(ctx context.Context, res *api.Resource, k known) {
			follow(ctx, g.Registry, registry.Target{Resource: res, Version: &res.Versions[0]}, registry.Selection{}, k, note)
		},
		gone: func(res *api.Resource, k known) { forgetUnseen(res, k, nil, note) },
	}.run(ctx)
}

// sync looks at one object: whether it may stay, and whether it waits for what
// it owns.
func (g *collector) sync(ctx context.Context, uid types.UID) (verdict, error) {
	n, ok := g.graph.node(uid)
	if !ok {
		return done, nil
	}
	obj, err := g.live(ctx, n.resource, n.namespace, n.name)
	switch {
	case err != nil:
		return soon, err
	case obj == nil || obj.GetUID() != uid:
		return done, nil // the graph will be told
	}
	if obj.GetDeletionTimestamp() == nil {
		return g.judge(ctx, n, obj)
	}
	switch {
	case slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents):
		return done, g.orphan(ctx, n, obj)
	case slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents):
		return done, g.await(ctx, n, obj)
	}
	return done, nil
}

// judge deletes an object that has owners of which none is left, and drops
// references to owners that are gone from one that has others.
func (g *collector) judge(ctx context.Context, n node, obj api.Object) (verdict, error) {
	refs := obj.GetOwnerReferences()
	if len(refs) == 0 {
		return done, nil
	}
	var solid int
	var waiting bool
	var drop []types.UID
	for _, ref := range refs {
		owner, known, err := g.owner(ctx, n, ref)
		switch {
		case err != nil:
			return soon, err
		case !known:
			return done, nil // of a kind that is not served: not ours to judge
		case owner == nil || owner.GetUID() != ref.UID:
			drop = append(drop, ref.UID)
		case awaits(owner) && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion:
			waiting = true
			drop = append(drop, ref.UID)
		default:
			solid++
		}
	}
	switch {
	case len(drop) == 0:
		return done, nil
	case solid > 0:
		return done, g.dropOwners(ctx, n, obj, drop)
	}
	policy := metav1.DeletePropagationBackground
	switch {
	case slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents):
		policy = metav1.DeletePropagationOrphan
	case slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents), waiting && g.graph.owns(n.uid):
		policy = metav1.DeletePropagationForeground
	}
	return done, g.delete(ctx, n, policy)
}

// owner reads the owner that a reference names; known is false when its kind is
// not served, or cannot own an object of that scope.
func (g *collector) owner(ctx context.Context, n node, ref metav1.OwnerReference) (obj api.Object, known bool, err error) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil, false, nil
	}
	res, _, ok := g.Catalogue.Kind(gv, ref.Kind)
	if !ok || res.Virtual != nil || res.Namespaced && n.namespace == "" {
		return nil, false, nil
	}
	namespace := n.namespace
	if !res.Namespaced {
		namespace = ""
	}
	obj, err = g.live(ctx, res, namespace, ref.Name)
	return obj, true, err
}

// awaits tells whether an object is kept until what it owns is gone.
func awaits(obj api.Object) bool {
	return obj.GetDeletionTimestamp() != nil && slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents)
}

func (g *collector) delete(ctx context.Context, n node, policy metav1.DeletionPropagation) error {
	err := g.client.do(ctx, http.MethodDelete, pathOf(n.resource, n.namespace, n.name), "application/json",
		&metav1.DeleteOptions{PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &n.uid}}, nil)
	return ignoreGone(err)
}

// ignoreGone is nil for an object that is gone, or another one by now.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// dropOwners takes references out of an object.
func (g *collector) dropOwners(ctx context.Context, n node, obj api.Object, owners []types.UID) error {
	kept := slices.DeleteFunc(slices.Clone(obj.GetOwnerReferences()), func(r metav1.OwnerReference) bool {
		return slices.Contains(owners, r.UID)
	})
	return g.patch(ctx, n, obj, map[string]any{"ownerReferences": kept})
}

// dropFinalizer lets go of an object.
func (g *collector) dropFinalizer(ctx context.Context, n node, obj api.Object, finalizer string) error {
	kept := slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool { return f == finalizer })
	return g.patch(ctx, n, obj, map[string]any{"finalizers": kept})
}

// patch changes the metadata of an object, if it is still what was looked at.
// Lists are replaced as a whole, which the resourceVersion makes safe.
func (g *collector) patch(ctx context.Context, n node, obj api.Object, metadata map[string]any) error {
	metadata["uid"], metadata["resourceVersion"] = obj.GetUID(), obj.GetResourceVersion()
	err := g.client.do(ctx, http.MethodPatch, pathOf(n.resource, n.namespace, n.name), "application/merge-patch+json",
		map[string]any{"metadata": metadata}, nil)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// orphan makes what an object owns its own master, and lets the object go.
func (g *collector) orphan(ctx context.Context, n node, obj api.Object) error {
	err := g.eachOwned(ctx, n, func(d node, owned api.Object) error {
		return g.dropOwners(ctx, d, owned, []types.UID{n.uid})
	})
	if err != nil {
		return err
	}
	return g.dropFinalizer(ctx, n, obj, metav1.FinalizerOrphanDependents)
}

// await deletes what an object owns, and lets the object go when nothing is
// left that asked to be waited for.
func (g *collector) await(ctx context.Context, n node, obj api.Object) error {
	blocked := false
	err := g.eachOwned(ctx, n, func(d node, owned api.Object) error {
		g.loop.queue.Add(d.uid)
		for _, ref := range owned.GetOwnerReferences() {
			if ref.UID == n.uid && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion {
				blocked = true
			}
		}
		return nil
	})
	if err != nil || blocked {
		return err // blocked: woken again when one of them goes
	}
	return g.dropFinalizer(ctx, n, obj, metav1.FinalizerDeleteDependents)
}

// eachOwned calls do with what n owns and what is there still, until it fails.
func (g *collector) eachOwned(ctx context.Context, n node, do func(node, api.Object) error) error {
	for _, d := range g.graph.dependents(n.uid) {
		owned, err := g.live(ctx, d.resource, d.namespace, d.name)
		if err != nil {
			return err
		}
		if owned == nil || owned.GetUID() != d.uid {
			continue
		}
		if err := do(d, owned); err != nil {
			return err
		}
	}
	return nil
}
