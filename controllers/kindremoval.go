package controllers

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// A definition that is being deleted stays until the last object of its kind is
// gone, which a finalizer may put off for long. Nobody asks for that again and
// again: a watch tells.

// refuseNew has no new objects made of a kind for as long as its definition says
// that it is going away, and has discovery say so.
func (k *CustomKinds) refuseNew(d *definition) error {
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

// cleanUp deletes the objects of a definition that is being deleted, and lets
// it go when there are none left.
func (k *CustomKinds) cleanUp(ctx context.Context, d *definition, item *storage.Item) (verdict, error) {
	d, err := k.terminating(ctx, d, apiextensionsv1.ConditionTrue, "InstanceDeletionInProgress", "CustomResource deletion is in progress")
	if d == nil || err != nil {
		return done, err
	}
	reason, message := "NeverEstablished", "resource was never established"
	if isTrue(d, apiextensionsv1.Established) {
		if !k.installed(d) && k.install(d, item) != nil { // it never could be served, and so has no objects
			reason, message = "OverlappingBuiltInResource", "instances overlap with built-in resources in storage"
		} else {
			reason, message = "InstanceDeletionCompleted", "removed all instances"
			empty, err := k.empty(ctx, d.Name)
			if err != nil {
				_, _ = k.terminating(ctx, d, apiextensionsv1.ConditionTrue, "InstanceDeletionFailed", fmt.Sprintf("could not issue all deletes: %v", err))
				return soon, err
			}
			if !empty {
				return done, nil
			}
		}
	}
	t := k.definitions
	t.Name = d.Name
	_, err = k.change(ctx, t, d, func(now *definition) {
		k.setTerminating(&now.Status, apiextensionsv1.ConditionFalse, reason, message)
		now.Finalizers = slices.DeleteFunc(now.Finalizers, func(f string) bool { return f == apiextensionsv1.CustomResourceCleanupFinalizer })
	}, registry.UpdateOptions{Whole: true})
	return done, err
}

// terminating writes how the deletion of a definition stands, and returns the
// definition as change does.
func (k *CustomKinds) terminating(ctx context.Context, d *definition, status apiextensionsv1.ConditionStatus, reason, message string) (*definition, error) {
	want := d.Status.DeepCopy()
	k.setTerminating(want, status, reason, message)
	return k.tell(ctx, d, *want)
}

func (k *CustomKinds) setTerminating(s *apiextensionsv1.CustomResourceDefinitionStatus, status apiextensionsv1.ConditionStatus, reason, message string) {
	s.Conditions = api.SetDefinitionCondition(s.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Terminating, Status: status, Reason: reason, Message: message,
	}, k.Now())
}

// installed tells whether the kind of a definition is in the catalogue.
func (k *CustomKinds) installed(d *definition) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	kind := k.kinds[d.Name]
	return kind != nil && kind.uid == d.UID
}

// empty deletes all objects of the kind of a definition, and tells whether none is
// left. Where some are, the definition is looked at again when that is over.
func (k *CustomKinds) empty(ctx context.Context, name string) (bool, error) {
	k.mu.Lock()
	kind, held := k.kinds[name], k.held[name]
	k.mu.Unlock()
	if held {
		return false, nil
	}
	// The watch comes first, so that it tells of every object that is not deleted
	// in the next line.
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
	k.held[name] = true
	k.mu.Unlock()
	k.waits.Go(func() {
		_ = recovery.Call(k.Logger, "waiting for the last object of "+name, func() { untilEmpty(ctx, w) })
		w.Stop()
		k.mu.Lock()
		delete(k.held, name)
		k.mu.Unlock()
		k.loop.queue.Add(name)
	})
	return false, nil
}

// deleteAll deletes all objects of a kind, and tells how many are left. Admission
// has nothing to say about it.
func (k *CustomKinds) deleteAll(ctx context.Context, t registry.Target) (left int, err error) {
	deleted, err := k.Registry.DeleteCollection(ctx, t, registry.ListOptions{}, registry.DeleteOptions{
		WriteOptions: registry.WriteOptions{Admitted: true},
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

// untilEmpty returns when all that a watch told of is gone, when it tells of an
// object that was made after it began, and when it is lost.
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
