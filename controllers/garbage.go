package controllers

import (
	"context"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/registry"
)

const garbageCollectorName = "garbage-collector-controller"

// garbageCollector deletes objects whose owners were deleted, and finalizes deleted owners. It
// follows all resources and builds the owner graph, which only triggers syncs; decisions are
// made on the live objects.
type garbageCollector struct {
	Config
	client *reconcile.Client
	graph  *ownerGraph
	loop   *reconcile.Loop[types.UID]
}

// collectorWorkers is the number of concurrent syncs.
const collectorWorkers = 4

func newGarbageCollector(c Config) Controller {
	g := &garbageCollector{Config: c, client: reconcile.NewClient(c.Handler, "generic-garbage-collector"), graph: newOwnerGraph()}
	g.loop = &reconcile.Loop[types.UID]{BaseConfig: c.BaseConfig, Name: garbageCollectorName, Sync: g.sync,
		ExtraSource: g.watchAll, Workers: collectorWorkers}
	return g.loop
}

// watchAll queues the objects that changes concern until ctx is done.
func (g *garbageCollector) watchAll(ctx context.Context, queue reconcile.Adder[types.UID]) {
	note := func(c reconcile.Change) {
		for _, uid := range g.graph.update(c) {
			queue.Add(uid)
		}
	}
	reconcile.ResourceFollower{
		Catalogue: g.Catalogue,
		Wants: func(res *api.Resource) bool {
			return reconcile.SupportsVerb(res, api.VerbDelete) && reconcile.SupportsVerb(res, api.VerbWatch) && !res.Storage.Expires
		},
		Follow: func(ctx context.Context, res *api.Resource, k reconcile.KnownUIDs) (wait func()) {
			return g.FollowObjects(ctx, registry.Target{Resource: res, Version: &res.Versions[0]}, registry.Selection{}, k, note).Wait
		},
		Removed: func(res *api.Resource, k reconcile.KnownUIDs) { reconcile.ReportDeleted(res, k, nil, note) },
	}.Run(ctx)
}

// sync collects an object whose owners do not exist, or finalizes a deleted owner.
func (g *garbageCollector) sync(ctx context.Context, uid types.UID) (reconcile.Result, error) {
	n, ok := g.graph.node(uid)
	if !ok {
		return reconcile.Done, nil
	}
	obj, err := g.Live(ctx, n.resource, n.namespace, n.name)
	switch {
	case err != nil:
		return reconcile.Retry, err
	case obj == nil || obj.GetUID() != uid:
		return reconcile.Done, nil // an event will update the graph
	}
	if obj.GetDeletionTimestamp() == nil {
		return g.collectIfUnowned(ctx, n, obj)
	}
	switch {
	case slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents):
		return reconcile.AfterWrite(g.orphanDependents(ctx, n, obj))
	case slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents):
		return reconcile.AfterWrite(g.finishForegroundDeletion(ctx, n, obj))
	}
	return reconcile.Done, nil
}

// collectIfUnowned deletes an object if none of its owners exists, and otherwise removes
// references to owners that do not exist.
func (g *garbageCollector) collectIfUnowned(ctx context.Context, n graphNode, obj api.Object) (reconcile.Result, error) {
	refs := obj.GetOwnerReferences()
	if len(refs) == 0 {
		return reconcile.Done, nil
	}
	var solid int
	var waiting bool
	var drop []types.UID
	for _, ref := range refs {
		owner, known, err := g.owner(ctx, n, ref)
		switch {
		case err != nil:
			return reconcile.Retry, err
		case !known:
			return reconcile.Done, nil // the owner's kind is not served, so its existence is unknown
		case owner == nil || owner.GetUID() != ref.UID:
			drop = append(drop, ref.UID)
		case inForegroundDeletion(owner) && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion:
			waiting = true
			drop = append(drop, ref.UID)
		default:
			solid++
		}
	}
	switch {
	case len(drop) == 0:
		return reconcile.Done, nil
	case solid > 0:
		return reconcile.AfterWrite(g.dropOwners(ctx, n, obj, drop))
	}
	policy := metav1.DeletePropagationBackground
	switch {
	case slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents):
		policy = metav1.DeletePropagationOrphan
	case slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents), waiting && g.graph.owns(n.uid):
		policy = metav1.DeletePropagationForeground
	}
	// An object that a client has given another owner meanwhile stays.
	return reconcile.AfterWrite(g.client.DeleteUnchanged(ctx, n.resource, obj, &policy))
}

// owner returns the owner of a reference. known is false if its kind is not served or has a
// scope that cannot own the object.
func (g *garbageCollector) owner(ctx context.Context, n graphNode, ref metav1.OwnerReference) (obj api.Object, known bool, err error) {
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
	obj, err = g.Live(ctx, res, namespace, ref.Name)
	return obj, true, err
}

// inForegroundDeletion reports whether the deletion of an object waits for its dependents.
func inForegroundDeletion(obj api.Object) bool {
	return obj.GetDeletionTimestamp() != nil && slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents)
}

// dropOwners removes owner references from an object.
func (g *garbageCollector) dropOwners(ctx context.Context, n graphNode, obj api.Object, owners []types.UID) error {
	kept := slices.DeleteFunc(slices.Clone(obj.GetOwnerReferences()), func(r metav1.OwnerReference) bool {
		return slices.Contains(owners, r.UID)
	})
	return g.patch(ctx, n, obj, map[string]any{"ownerReferences": kept})
}

// dropFinalizer removes a finalizer from an object.
func (g *garbageCollector) dropFinalizer(ctx context.Context, n graphNode, obj api.Object, finalizer string) error {
	kept := slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool { return f == finalizer })
	return g.patch(ctx, n, obj, map[string]any{"finalizers": kept})
}

// patch changes the metadata of an object if it is still at the resourceVersion of obj, so
// lists can be replaced as a whole.
func (g *garbageCollector) patch(ctx context.Context, n graphNode, obj api.Object, metadata map[string]any) error {
	metadata["uid"], metadata["resourceVersion"] = obj.GetUID(), obj.GetResourceVersion()
	err := g.client.Do(ctx, http.MethodPatch, reconcile.ObjectPath(n.resource, n.namespace, n.name), "application/merge-patch+json",
		map[string]any{"metadata": metadata}, nil)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// orphanDependents removes the owner references of all dependents, and then the finalizer of the
// owner.
func (g *garbageCollector) orphanDependents(ctx context.Context, n graphNode, obj api.Object) error {
	err := g.forEachDependent(ctx, n, func(d graphNode, owned api.Object) error {
		return g.dropOwners(ctx, d, owned, []types.UID{n.uid})
	})
	if err != nil {
		return err
	}
	return g.dropFinalizer(ctx, n, obj, metav1.FinalizerOrphanDependents)
}

// finishForegroundDeletion queues the dependents of a deleted owner for collection, and
// removes the owner's finalizer when no dependent blocks its deletion.
func (g *garbageCollector) finishForegroundDeletion(ctx context.Context, n graphNode, obj api.Object) error {
	blocked := false
	err := g.forEachDependent(ctx, n, func(d graphNode, owned api.Object) error {
		g.loop.Queue.Add(d.uid)
		for _, ref := range owned.GetOwnerReferences() {
			if ref.UID == n.uid && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion {
				blocked = true
			}
		}
		return nil
	})
	if err != nil || blocked {
		return err // the deletion of a blocking dependent triggers the next sync
	}
	return g.dropFinalizer(ctx, n, obj, metav1.FinalizerDeleteDependents)
}

// forEachDependent calls do for every live dependent of n, until do returns an error.
func (g *garbageCollector) forEachDependent(ctx context.Context, n graphNode, do func(graphNode, api.Object) error) error {
	for _, d := range g.graph.dependents(n.uid) {
		owned, err := g.Live(ctx, d.resource, d.namespace, d.name)
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
