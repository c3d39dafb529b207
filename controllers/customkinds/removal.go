package customkinds

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/kinds/apiextensions"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// A definition that is being deleted stays until the last object of its kind is deleted,
// which finalizers may delay for long. A watch, not polling, detects that.

// markTerminating marks the kind of a deleted definition as terminating, which refuses the
// creation of objects and updates discovery.
func (k *Controller) markTerminating(d *definition) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	kind := k.kinds[d.Name]
	going := isTrue(d, apiextensionsv1.Terminating)
	if kind == nil || kind.uid != d.UID || kind.Terminating.Swap(going) == going {
		return nil
	}
	same := []*api.Resource{kind.Resource}
	return k.Catalogue.Change(same, same)
}

// deletionFailed is the reason of the condition Terminating after a cleanup that failed.
const deletionFailed = "InstanceDeletionFailed"

// cleanUp deletes the objects of a deleted definition, and removes its finalizer when none
// are left.
func (k *Controller) cleanUp(ctx context.Context, d *definition, item *storage.Item) (reconcile.Result, error) {
	// A failure that was written stays until a later attempt succeeds. To write that the deletion is in
	// progress before each attempt would trigger the next attempt at once.
	if c := conditionOf(d, apiextensionsv1.Terminating); c == nil || c.Reason != deletionFailed {
		var err error
		d, err = k.writeTerminating(ctx, d, apiextensionsv1.ConditionTrue, "InstanceDeletionInProgress", "CustomResource deletion is in progress")
		if d == nil || err != nil {
			return reconcile.Done, err
		}
	}
	// A webhook may hold a creation that began before the condition. After the fence none is stored.
	if err := k.Registry.Fence(ctx, schema.GroupResource{Group: d.Spec.Group, Resource: d.Spec.Names.Plural}, string(d.UID)); err != nil {
		return reconcile.Retry, err
	}
	reason, message := "NeverEstablished", "resource was never established"
	if isTrue(d, apiextensionsv1.Established) || k.isInstalled(d) { // it is installed shortly before it is established
		if !k.isInstalled(d) && k.installEstablished(d, item) != nil { // the kind could not be served, so it has no objects
			reason, message = "OverlappingBuiltInResource", "instances overlap with built-in resources in storage"
		} else {
			reason, message = "InstanceDeletionCompleted", "removed all instances"
			empty, err := k.deleteObjects(ctx, d.Name)
			if err != nil {
				_, _ = k.writeTerminating(ctx, d, apiextensionsv1.ConditionTrue, deletionFailed, fmt.Sprintf("could not issue all deletes: %v", err))
				return reconcile.Retry, err
			}
			if !empty {
				return reconcile.Done, nil
			}
		}
	}
	t := k.definitions
	t.Name = d.Name
	_, err := k.updateDefinition(ctx, t, d, func(now *definition) {
		k.setTerminating(&now.Status, apiextensionsv1.ConditionFalse, reason, message)
		now.Finalizers = slices.DeleteFunc(now.Finalizers, func(f string) bool { return f == apiextensionsv1.CustomResourceCleanupFinalizer })
	}, registry.UpdateOptions{SkipStrategy: true})
	return reconcile.Done, err
}

// writeTerminating writes the Terminating condition and returns the definition as
// updateDefinition does.
func (k *Controller) writeTerminating(ctx context.Context, d *definition, status apiextensionsv1.ConditionStatus,
	reason, message string) (*definition, error) {
	want := d.Status.DeepCopy()
	k.setTerminating(want, status, reason, message)
	return k.writeStatus(ctx, d, *want)
}

func (k *Controller) setTerminating(s *apiextensionsv1.CustomResourceDefinitionStatus,
	status apiextensionsv1.ConditionStatus, reason, message string) {
	s.Conditions = apiextensions.SetDefinitionCondition(s.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Terminating, Status: status, Reason: reason, Message: message,
	}, k.Now())
}

// isInstalled reports whether the kind of a definition is in the catalogue.
func (k *Controller) isInstalled(d *definition) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	kind := k.kinds[d.Name]
	return kind != nil && kind.uid == d.UID
}

// deleteObjects deletes all objects of a kind and reports whether none is left. If some are, the
// definition is synced again when they are deleted.
func (k *Controller) deleteObjects(ctx context.Context, name string) (bool, error) {
	k.mu.Lock()
	kind, held := k.kinds[name], k.awaitingDeletion[name]
	k.mu.Unlock()
	if held {
		return false, nil
	}
	// The watch starts before the deletion, so that it reports the end of every object that
	// remains.
	t := registry.Target{Resource: kind.Resource, Version: &kind.Resource.Versions[0]}
	w, err := k.Registry.Watch(ctx, t, registry.WatchOptions{WatchOptions: storage.WatchOptions{Initial: true, InitialEventsEnd: true}})
	if err != nil {
		return false, err
	}
	left, err := k.deleteAll(ctx, t)
	if err != nil || left == 0 {
		w.Stop()
		return err == nil, err
	}
	k.mu.Lock()
	k.awaitingDeletion[name] = true
	k.mu.Unlock()
	k.background.Go(func() {
		_ = recovery.Call(k.Logger, "waiting for the last object of "+name, func() { untilEmpty(ctx, w) })
		w.Stop()
		k.mu.Lock()
		delete(k.awaitingDeletion, name)
		k.mu.Unlock()
		k.loop.Queue.Add(name)
	})
	return false, nil
}

// deleteAll deletes all objects of a kind without admission, and returns the number of
// remaining ones.
func (k *Controller) deleteAll(ctx context.Context, t registry.Target) (left int, err error) {
	deleted, err := k.Registry.DeleteCollection(ctx, t, registry.ListOptions{}, registry.DeleteOptions{
		WriteOptions: registry.WriteOptions{SkipAdmission: true},
	})
	if err != nil || len(deleted.Items) == 0 {
		return 0, err
	}
	list, err := k.Registry.List(ctx, t, registry.ListOptions{})
	if err != nil {
		return 0, err
	}
	return len(list.Items), nil
}

// untilEmpty returns when all objects of the watch are deleted, when a new object is
// created, or when the watch is lost.
func untilEmpty(ctx context.Context, w *storage.Watcher) {
	left, initial := 0, true
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return
		}
		for _, e := range events {
			switch e.Type {
			case storage.Bookmark:
				initial = initial && !e.End
			case storage.Added:
				left++
				if !initial {
					return
				}
			case storage.Deleted:
				left--
			}
		}
		if !initial && left == 0 {
			return
		}
	}
}
