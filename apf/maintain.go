package apf

import (
	"context"
	"fmt"
	"strconv"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// wanted is an object that is maintained.
type wanted struct {
	target registry.Target
	object api.Object
	// fixed: its spec is not for users to change.
	fixed bool
}

// wanted lists all objects that are maintained.
func (k *Keeper) wanted() []wanted {
	var all []wanted
	for _, d := range []struct {
		defaults
		fixed bool
	}{{suggested(), false}, {mandatory(), true}} {
		for _, o := range d.levels {
			all = append(all, wanted{named(k.levels, o.Name), o, d.fixed})
		}
		for _, o := range d.schemas {
			all = append(all, wanted{named(k.schemas, o.Name), o, d.fixed})
		}
	}
	return all
}

func named(t registry.Target, name string) registry.Target {
	t.Name = name
	return t
}

// Bootstrap is Ensure for the start of a server: what is missing is made at once,
// before there is any admission to ask.
func (k *Keeper) Bootstrap(ctx context.Context) error {
	ctx = k.asServer(ctx)
	all := k.wanted()
	var missing []registry.Made
	var there []wanted
	for _, w := range all {
		_, err := k.reg.Get(ctx, w.target, storage.Read{Match: storage.Any})
		switch {
		case err == nil:
			there = append(there, w)
		case apierrors.IsNotFound(err):
			missing = append(missing, registry.Made{Resource: w.target.Resource, Object: w.object})
		default:
			return err
		}
	}
	if err := k.reg.CreateMissing(ctx, missing, producer); err != nil {
		return err
	}
	return k.maintain(ctx, there, all)
}

// Ensure makes the objects that are missing, mends those that are the servers'
// to mend, and removes those that an older server suggested. Several servers may
// do so at the same time.
func (k *Keeper) Ensure(ctx context.Context) error {
	all := k.wanted()
	return k.maintain(k.asServer(ctx), all, all)
}

// maintain looks after some of all objects, and removes what is not among all.
func (k *Keeper) maintain(ctx context.Context, some, all []wanted) error {
	for _, w := range some {
		if err := k.ensure(ctx, w); err != nil {
			return fmt.Errorf("%s %s: %w", w.target.Resource.Name, w.target.Name, err)
		}
	}
	return k.removeObsolete(ctx, all)
}

func (k *Keeper) ensure(ctx context.Context, w wanted) error {
	item, err := k.reg.Get(ctx, w.target, storage.Read{Match: storage.Any})
	if apierrors.IsNotFound(err) {
		_, err = k.reg.Create(ctx, w.target, w.object, registry.WriteOptions{Manager: producer})
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		item, err = k.reg.Get(ctx, w.target, storage.Read{})
	}
	if err != nil {
		return err
	}
	old, err := item.Object()
	if err != nil || w.mended(old) == nil {
		return err
	}
	_, err = k.reg.Update(ctx, w.target, func(_ context.Context, old api.Object) (api.Object, error) {
		if mended := w.mended(old); mended != nil {
			return mended, nil
		}
		return old, nil // another server was faster
	}, registry.UpdateOptions{WriteOptions: registry.WriteOptions{Manager: producer}})
	if apierrors.IsNotFound(err) {
		return nil // deleted at this moment: made again the next time
	}
	return err
}

// mended is what becomes of an object that is there, or nil if it may stay as it
// is. The annotation says who controls a suggested spec; where it says nothing
// that can be understood, the servers do unless somebody has changed the spec.
func (w wanted) mended(there api.Object) api.Object {
	ours := w.fixed
	if !ours {
		var err error
		if ours, err = strconv.ParseBool(there.GetAnnotations()[autoUpdate]); err != nil {
			ours = there.GetGeneration() == 1
		}
	}
	annotation := strconv.FormatBool(ours)
	new := there.DeepCopyObject().(api.Object)
	changed := ours && takeSpec(new, w.object)
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

// takeSpec gives obj the spec of from, as far as it is not free, and tells
// whether it had another.
func takeSpec(obj, from api.Object) bool {
	switch obj := obj.(type) {
	case *flowcontrolv1.FlowSchema:
		spec := from.(*flowcontrolv1.FlowSchema).Spec
		if equality.Semantic.DeepEqual(obj.Spec, spec) {
			return false
		}
		obj.Spec = *spec.DeepCopy()
	case *flowcontrolv1.PriorityLevelConfiguration:
		spec := &from.(*flowcontrolv1.PriorityLevelConfiguration).Spec
		if fixed := api.MandatoryPriorityLevel(obj); fixed != nil {
			spec = fixed
		}
		if equality.Semantic.DeepEqual(obj.Spec, *spec) {
			return false
		}
		obj.Spec = *spec.DeepCopy()
	}
	return true
}

// removeObsolete deletes objects that say they are maintained, but are not among
// those that are: an older server suggested them.
func (k *Keeper) removeObsolete(ctx context.Context, all []wanted) error {
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
				continue // told of by the store
			}
			target := named(t, obj.GetName())
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
