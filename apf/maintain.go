package apf

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/kinds/flowcontrol"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// maintainedObject is an object that the server maintains.
type maintainedObject struct {
	target registry.Target
	object api.Object
	// mandatory is set if users cannot change the spec.
	mandatory bool
}

// maintainedObjects returns all maintained objects.
func (k *Controller) maintainedObjects() []maintainedObject {
	var all []maintainedObject
	for _, d := range []struct {
		defaultObjects
		fixed bool
	}{{suggestedObjects(), false}, {mandatoryObjects(), true}} {
		for _, o := range d.levels {
			all = append(all, maintainedObject{withName(k.levels, o.Name), o, d.fixed})
		}
		for _, o := range d.schemas {
			all = append(all, maintainedObject{withName(k.schemas, o.Name), o, d.fixed})
		}
	}
	return all
}

func withName(t registry.Target, name string) registry.Target {
	t.Name = name
	return t
}

// Bootstrap is Ensure for the start of a server: it creates all missing objects in one
// transaction, before admission is available.
func (k *Controller) Bootstrap(ctx context.Context) error {
	ctx = k.asServer(ctx)
	all := k.maintainedObjects()
	var missing []registry.InitialObject
	var there []maintainedObject
	for _, w := range all {
		item, err := k.reg.Get(ctx, w.target, storage.Read{Match: storage.Any})
		if err == nil && item.Corrupt() != nil {
			if _, err := k.reg.RemoveUnreadable(ctx, w.target, k.log); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
			missing = append(missing, registry.InitialObject{Resource: w.target.Resource, Object: w.object})
			continue
		}
		switch {
		case err == nil:
			there = append(there, w)
		case apierrors.IsNotFound(err):
			missing = append(missing, registry.InitialObject{Resource: w.target.Resource, Object: w.object})
		default:
			return err
		}
	}
	if err := k.reg.CreateMissing(ctx, missing, producerManager); err != nil {
		return err
	}
	return k.maintain(ctx, there, all)
}

// Ensure creates missing objects, repairs objects that servers control, and deletes objects
// that an older server suggested. Several servers may call it at the same time.
func (k *Controller) Ensure(ctx context.Context) error {
	all := k.maintainedObjects()
	return k.maintain(k.asServer(ctx), all, all)
}

// maintain ensures the objects in some, and deletes maintained objects that are not in all.
func (k *Controller) maintain(ctx context.Context, some, all []maintainedObject) error {
	var errs []error
	for _, w := range some { // an object that cannot be repaired must not keep the others from it
		if err := k.ensure(ctx, w); err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", w.target.Resource.Name, w.target.Name, err))
		}
	}
	return errors.Join(append(errs, k.removeObsolete(ctx, all))...)
}

func (k *Controller) ensure(ctx context.Context, w maintainedObject) error {
	item, err := k.reg.Get(ctx, w.target, storage.Read{Match: storage.Any})
	if apierrors.IsNotFound(err) {
		_, err = k.reg.Create(ctx, w.target, w.object, registry.WriteOptions{Manager: producerManager})
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		item, err = k.reg.Get(ctx, w.target, storage.Read{})
	}
	if err != nil {
		return err
	}
	old, err := item.Object()
	if err != nil {
		if _, err := k.reg.RemoveUnreadable(ctx, w.target, k.log); err != nil {
			return err
		}
		_, err = k.reg.Create(ctx, w.target, w.object, registry.WriteOptions{Manager: producerManager})
		return err
	}
	if w.repaired(old) == nil {
		return nil
	}
	_, err = k.reg.Update(ctx, w.target, func(_ context.Context, old api.Object) (api.Object, error) {
		if mended := w.repaired(old); mended != nil {
			return mended, nil
		}
		return old, nil // another server was faster
	}, registry.UpdateOptions{WriteOptions: registry.WriteOptions{Manager: producerManager}})
	if apierrors.IsNotFound(err) {
		return nil // deleted meanwhile; the next call creates it
	}
	return err
}

// repaired returns the object that replaces there, or nil if no change is needed. The
// annotation decides who controls a suggested spec. If it is missing or invalid, the servers
// do, unless the spec was changed since its creation.
func (w maintainedObject) repaired(there api.Object) api.Object {
	ours := w.mandatory
	if !ours {
		var err error
		if ours, err = strconv.ParseBool(there.GetAnnotations()[autoUpdate]); err != nil {
			ours = there.GetGeneration() == 1
		}
	}
	annotation := strconv.FormatBool(ours)
	new := there.DeepCopyObject().(api.Object)
	changed := ours && replaceSpec(new, w.object)
	if there.GetAnnotations()[autoUpdate] != annotation {
		annotations := new.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[autoUpdate] = annotation
		new.SetAnnotations(annotations)
		changed = true
	}
	if !changed {
		return nil
	}
	return new
}

// replaceSpec gives obj the spec of from, except for fields that users may set, and reports
// whether obj changed.
func replaceSpec(obj, from api.Object) bool {
	switch obj := obj.(type) {
	case *flowcontrolv1.FlowSchema:
		spec := from.(*flowcontrolv1.FlowSchema).Spec
		if equality.Semantic.DeepEqual(obj.Spec, spec) {
			return false
		}
		obj.Spec = *spec.DeepCopy()
	case *flowcontrolv1.PriorityLevelConfiguration:
		spec := &from.(*flowcontrolv1.PriorityLevelConfiguration).Spec
		if fixed := flowcontrol.MandatoryPriorityLevel(obj); fixed != nil {
			spec = fixed
		}
		if equality.Semantic.DeepEqual(obj.Spec, *spec) {
			return false
		}
		obj.Spec = *spec.DeepCopy()
	}
	return true
}

// removeObsolete deletes objects that are annotated as maintained but are not in all: an
// older server suggested them.
func (k *Controller) removeObsolete(ctx context.Context, all []maintainedObject) error {
	maintained := map[registry.Target]bool{}
	for _, w := range all {
		maintained[w.target] = true
	}
	for _, t := range []registry.Target{k.levels, k.schemas} {
		list, err := k.reg.List(ctx, t, registry.ListOptions{Read: storage.Read{Match: storage.Any}})
		if err != nil {
			return err
		}
		for _, item := range list.Items {
			obj, err := item.Object()
			if err != nil {
				continue // the store has logged it
			}
			target := withName(t, obj.GetName())
			if ours, _ := strconv.ParseBool(obj.GetAnnotations()[autoUpdate]); !ours || maintained[target] {
				continue
			}
			uid, revision := obj.GetUID(), obj.GetResourceVersion()
			o := registry.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &revision}}
			if _, err := k.reg.Delete(ctx, target, o); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				return fmt.Errorf("%s %s: %w", t.Resource.Name, obj.GetName(), err)
			}
		}
	}
	return nil
}
