package registry

import (
	"context"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/ssa"
)

// SubresourceView returns the representation of obj at the subresource that t names: obj
// itself, or an object of the subresource's kind.
func (t Target) SubresourceView(obj api.Object) (api.Object, error) {
	if t.Sub == nil || t.Sub.View == nil {
		return obj, nil
	}
	return t.Sub.View(obj)
}

// viewWrite is a write of an object of another kind (scale) that represents the stored object.
// Before is its state before the write, which must not be changed, after the one that the request
// wants. Both have the managers of their fields.
type viewWrite struct {
	before, after api.Object
}

// startViewWrite returns the write of a view of old.
func (t Target) startViewWrite(old api.Object) (*viewWrite, error) {
	before, err := t.Sub.PreviousView(old)
	if err != nil {
		return nil, err
	}
	owners, err := ssa.ScaleFields(old.GetManagedFields(), t.Sub.Replicas)
	if err != nil {
		return nil, err
	}
	before.SetManagedFields(owners)
	return &viewWrite{before: before}, nil
}

// changeByView applies the view that the request wants to the object, after mutating admission. The uid and the
// resourceVersion of the view remain, as preconditions.
func (w *update) changeByView(ctx context.Context) error {
	t, view := w.t, w.view.after
	if err := t.MatchNamespace(view); err != nil {
		return err
	}
	api.DedupOwnerReferences(view, true, request.From(ctx).Warn) // the object has others
	obj, err := t.Sub.Change(w.obj, view)
	if err != nil {
		return err
	}
	obj.SetResourceVersion(view.GetResourceVersion())
	if uid := view.GetUID(); uid != "" {
		obj.SetUID(uid)
	}
	owners, err := ssa.ParentFields(obj.GetManagedFields(), view.GetManagedFields(), t.Version.String(), t.Sub.Replicas)
	if err != nil {
		return err
	}
	obj.SetManagedFields(owners)
	w.obj = obj
	return nil
}

// showViews gives validating admission the views of the stored object and of the one to be stored.
func (w *update) showViews() (err error) {
	a := w.attributes
	if a == nil {
		return nil
	}
	if a.Object, err = w.t.Sub.View(w.obj); err != nil {
		return err
	}
	a.Old, err = w.t.Sub.View(w.old)
	return err
}
