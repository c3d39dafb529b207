package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// DeleteOptions are the options of a deletion.
type DeleteOptions struct {
	WriteOptions
	// GracePeriodSeconds is the grace period in the request, or nil.
	GracePeriodSeconds *int64
	Preconditions      *metav1.Preconditions
	// Propagation determines what happens to the dependents of the object. If it is empty,
	// existing finalizers decide, and then the kind's default.
	Propagation metav1.DeletionPropagation
	// TellAccepted means that the request says orphanDependents: false. As in kube-apiserver, only
	// such a request gets status 202 if the object remains as a terminating one.
	TellAccepted bool

	// IgnoreReadErrors means that the request is for DeleteCorrupt instead of Delete.
	IgnoreReadErrors bool

	// collection means that the object is deleted as part of a collection.
	collection bool
}

// Delete removes the object that t names, or marks it as terminating if it has finalizers
// or a grace period.
func (r *Registry) Delete(ctx context.Context, t Target, o DeleteOptions) (Outcome, error) {
	if err := t.CheckName(); err != nil {
		return Outcome{}, err
	}
	if t.Resource.Delete.Protected != nil {
		if err := t.Resource.Delete.Protected(t.Name); err != nil {
			return Outcome{}, apierrors.NewForbidden(t.groupResource(), t.Name, err)
		}
	}
	out, err := r.delete(ctx, t, o)
	out.Accepted = o.TellAccepted && err == nil && !out.Deleted
	return out, err
}

func (r *Registry) delete(ctx context.Context, t Target, o DeleteOptions) (Outcome, error) {
	if o.DryRun {
		request.From(ctx).Account.SetDryRun()
	}
	c := r.collection(t.Resource)
	item, err := c.Get(ctx, t.Key(), storage.Read{})
	for n := attempts(0); ; {
		if err != nil {
			return Outcome{}, r.StatusError(t, err)
		}
		if err := n.next(ctx); err != nil {
			return Outcome{}, err
		}
		out, err2 := r.deleteOnce(ctx, t, c, item, o)
		var conflict *storage.ConflictError
		if !errors.As(err2, &conflict) {
			return out, r.StatusError(t, err2)
		}
		item = conflict.Current
	}
}

func (r *Registry) deleteOnce(ctx context.Context, t Target, c *storage.Collection, item *storage.Item, o DeleteOptions) (Outcome, error) {
	stored, err := t.Objects(ctx, item)
	if err != nil {
		return Outcome{}, err
	}
	old := stored[0]
	if err := deletePreconditions(t, old, o); err != nil {
		return Outcome{}, err
	}
	grace, isPending := gracePeriod(t.Resource, old, o.GracePeriodSeconds)
	if isPending { // as in kube-apiserver, admission is not asked again
		return unchanged(t, old, item), nil
	}
	if err := r.admitDeletion(ctx, t, old, grace, o); err != nil {
		return Outcome{}, err
	}
	obj, changed := r.markTerminating(t.Resource, old, grace)
	finalizers := obj.GetFinalizers()
	if !t.Resource.Delete.MarkOnly || old.GetDeletionTimestamp() != nil {
		finalizers = propagationFinalizers(t.Resource, obj, o.Propagation)
	}
	if !slices.Equal(finalizers, obj.GetFinalizers()) {
		if !changed {
			obj, changed = old.DeepCopyObject().(api.Object), true
		}
		obj.SetFinalizers(finalizers)
	}
	if grace == 0 && !hasFinalizers(t.Resource, obj) {
		if t.Resource.Delete.GracePeriodSeconds == nil {
			obj = old
		}
		if obj == old || o.DryRun {
			return r.finishDelete(ctx, t, c, item, old, obj, o.DryRun)
		}
		// Watchers see an update without a grace period before the deletion.
		marked, err := r.replace(ctx, t, c, item, obj)
		if err != nil {
			return Outcome{}, err
		}
		if err := r.admitDeletion(ctx, t, marked.Object, grace, o); err != nil { // each write is admitted
			return Outcome{}, err
		}
		out, err := r.finishDelete(ctx, t, c, marked.Item, marked.Object, marked.Object, false)
		if errors.Is(err, storage.ErrNotFound) {
			// A client that saw the update has deleted the object.
			marked.Deleted = true
			return marked, nil
		}
		return out, err
	}
	switch {
	case o.DryRun && !changed:
		return unchanged(t, old, item), nil
	case o.DryRun:
		return Outcome{Object: obj}, nil
	case !changed: // its form in storage can be an old one
		obj = old.DeepCopyObject().(api.Object)
	}
	var fences []string
	if old.GetDeletionTimestamp() == nil {
		fences = ownFence(t.Resource, old)
	}
	return r.replace(ctx, t, c, item, obj, fences...)
}

// admitDeletion asks admission for the deletion of old. It sees the grace period that the kind chooses where the deletion begins.
func (r *Registry) admitDeletion(ctx context.Context, t Target, old api.Object, grace int64, o DeleteOptions) error {
	a := r.newAttributes(ctx, t, api.VerbDelete, nil, old, o.WriteOptions)
	if a != nil {
		if t.Resource.Delete.GracePeriodSeconds != nil && old.GetDeletionTimestamp() == nil {
			o.GracePeriodSeconds = &grace
		}
		a.deletion = &o
		if o.collection {
			a.Name = ""
		}
	}
	if err := r.mutate(ctx, a); err != nil {
		return err
	}
	return r.validate(ctx, a)
}

// gracePeriod returns the grace period of a deletion in seconds. isPending reports whether the object is
// already being deleted after a period that the request does not shorten.
func gracePeriod(res *api.Resource, old api.Object, requested *int64) (seconds int64, isPending bool) {
	if res.Delete.GracePeriodSeconds == nil {
		return 0, false
	}
	if requested != nil && *requested < 0 {
		one := int64(1)
		requested = &one
	}
	left := ptr.Deref(old.GetDeletionGracePeriodSeconds(), 0)
	switch {
	case old.GetDeletionTimestamp() == nil || left == 0:
		return res.Delete.GracePeriodSeconds(old, requested), false
	case requested == nil || *requested >= left:
		return 0, true
	}
	return *requested, false
}

// unchanged returns the outcome of a deletion that changes nothing.
func unchanged(t Target, old api.Object, item *storage.Item) Outcome {
	if t.Resource.Storage.ConvertFromStored != nil {
		return Outcome{Object: old}
	}
	return Outcome{Object: old, Item: item}
}

// propagationFinalizers returns the finalizers of a deleted object: its own, and the one
// that tells the garbage collector what to do with the dependents.
func propagationFinalizers(res *api.Resource, obj api.Object, p metav1.DeletionPropagation) []string {
	own := obj.GetFinalizers()
	if res.Delete.NoDependents {
		p = metav1.DeletePropagationBackground
	}
	if p == "" {
		switch {
		case slices.Contains(own, metav1.FinalizerOrphanDependents), slices.Contains(own, metav1.FinalizerDeleteDependents):
			return own
		case res.Delete.OrphanByDefault:
			p = metav1.DeletePropagationOrphan
		}
	}
	out := slices.DeleteFunc(slices.Clone(own), func(f string) bool {
		return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
	})
	switch p {
	case metav1.DeletePropagationOrphan:
		out = append(out, metav1.FinalizerOrphanDependents)
	case metav1.DeletePropagationForeground:
		out = append(out, metav1.FinalizerDeleteDependents)
	}
	if sets.New(own...).Equal(sets.New(out...)) {
		return own // in their order
	}
	return out
}

// markTerminating returns a copy of old that is marked as terminating, and reports whether
// it differs from old. A grace period can be shortened but not extended.
func (r *Registry) markTerminating(res *api.Resource, old api.Object, grace int64) (api.Object, bool) {
	if deletedAt := old.GetDeletionTimestamp(); deletedAt != nil {
		g := old.GetDeletionGracePeriodSeconds()
		if g == nil && res.Delete.MarkOnly {
			obj := old.DeepCopyObject().(api.Object)
			obj.SetDeletionGracePeriodSeconds(&grace)
			return obj, true
		}
		if g == nil || grace >= *g {
			return old, false
		}
	}
	obj := old.DeepCopyObject().(api.Object)
	at := metav1.NewTime(r.o.Now().UTC().Add(time.Duration(grace) * time.Second)).Rfc3339Copy()
	if res.Delete.MarkTerminating != nil {
		obj.SetDeletionTimestamp(&at)
		res.Delete.MarkTerminating(obj)
		return obj, true
	}
	if deletedAt := old.GetDeletionTimestamp(); deletedAt != nil {
		shortened := metav1.NewTime(deletedAt.Add(time.Duration(grace-*old.GetDeletionGracePeriodSeconds()) * time.Second))
		if now := metav1.NewTime(r.o.Now().UTC()).Rfc3339Copy(); shortened.Before(&now) {
			// The end does not move into the past, and some grace remains for the kubelet.
			shortened, grace = now, min(grace, 1)
		}
		at = shortened
	} else if obj.GetGeneration() > 0 { // also of a kind without one, whose clients have set it
		obj.SetGeneration(obj.GetGeneration() + 1)
	}
	obj.SetDeletionTimestamp(&at)
	obj.SetDeletionGracePeriodSeconds(&grace)
	return obj, true
}

// finishDelete removes the object from storage. old is the stored object, which is shared;
// last is its last state, either old itself or a copy.
func (r *Registry) finishDelete(ctx context.Context, t Target, c *storage.Collection, item *storage.Item, old,
	last api.Object, dryRun bool) (Outcome, error) {
	if dryRun {
		return Outcome{Object: last, Deleted: true}, nil
	}
	removed, err := c.Delete(ctx, item, ownFence(t.Resource, old)...)
	if err != nil {
		return Outcome{}, err
	}
	if allocator := r.allocators[t.Resource.GroupResource()]; allocator != nil {
		if err := allocator.Release(ctx, last); err != nil {
			return Outcome{}, err
		}
	}
	if last != old {
		last.SetResourceVersion(fmt.Sprint(removed.Revision()))
		return Outcome{Object: last, Deleted: true}, nil
	}
	out, err := t.outcome(ctx, removed)
	out.Deleted = true
	return out, err
}

// completesDeletion reports whether an update of a terminating object leaves it without
// finalizers and grace period, so that it must be removed.
func completesDeletion(res *api.Resource, obj, old api.Object) bool {
	if old.GetDeletionTimestamp() == nil || hasFinalizers(res, obj) {
		return false
	}
	grace := obj.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}

func hasFinalizers(res *api.Resource, obj api.Object) bool {
	return len(obj.GetFinalizers()) > 0 || res.Delete.HasFinalizers != nil && res.Delete.HasFinalizers(obj)
}

// NewDeleteOptions validates and converts the options in a request.
func NewDeleteOptions(o *metav1.DeleteOptions) (DeleteOptions, error) {
	if err := api.CheckDeleteOptions(o); err != nil {
		return DeleteOptions{}, err
	}
	out := DeleteOptions{
		WriteOptions:       WriteOptions{DryRun: len(o.DryRun) > 0},
		GracePeriodSeconds: o.GracePeriodSeconds, Preconditions: o.Preconditions,
		IgnoreReadErrors: o.IgnoreStoreReadErrorWithClusterBreakingPotential != nil && *o.IgnoreStoreReadErrorWithClusterBreakingPotential,
	}
	switch {
	case o.PropagationPolicy != nil:
		out.Propagation = *o.PropagationPolicy
	case o.OrphanDependents != nil && *o.OrphanDependents:
		out.Propagation = metav1.DeletePropagationOrphan
	case o.OrphanDependents != nil:
		out.Propagation = metav1.DeletePropagationBackground
	}
	out.TellAccepted = o.OrphanDependents != nil && !*o.OrphanDependents
	return out, nil
}

// deletePreconditions checks uid and resourceVersion. As in kube-apiserver, the messages
// name the kind instead of the resource, and kinds with their own MarkTerminating have messages
// of their own for single deletions.
func deletePreconditions(t Target, old api.Object, o DeleteOptions) error {
	p, named := o.Preconditions, t.groupResource()
	if p == nil || t.Resource.Delete.MarkTerminating == nil || o.collection {
		named.Resource = t.Resource.Kind
		return api.CheckPreconditions(named, old, p)
	}
	failed := t.Resource.Delete.PreconditionError
	if p.UID != nil && *p.UID != old.GetUID() {
		return apierrors.NewConflict(named, old.GetName(),
			fmt.Errorf("%s: UID in precondition: %v, UID in object meta: %v", failed, *p.UID, old.GetUID()))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != old.GetResourceVersion() {
		return apierrors.NewConflict(named, old.GetName(),
			fmt.Errorf("%s: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v", failed,
				*p.ResourceVersion, old.GetResourceVersion()))
	}
	return nil
}
