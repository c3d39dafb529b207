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
	if v, ok := t.Sub.(*api.View); ok {
		return v.View(obj)
	}
	return obj, nil
}

// viewWrite is a write of an object of another kind (scale) that represents the stored object.
// Before is its state before the write, which must not be changed, after the one that the request
// wants. Both have the managers of their fields.
type viewWrite struct {
	*api.View
	before, after api.Object
}

// startViewWrite returns the write of a view of old.
func startViewWrite(v *api.View, old api.Object) (*viewWrite, error) {
	before, err := v.Previous(old)
	if err != nil {
		return nil, err
	}
	owners, err := ssa.ScaleFields(old.GetManagedFields(), v.Replicas)
	if err != nil {
		return nil, err
	}
	before.SetManagedFields(owners)
	return &viewWrite{View: v, before: before}, nil
}

// changeByView applies the view that the request wants to the object, after mutating admission. The uid and the
// resourceVersion of the view remain, as preconditions.
func (w *update) changeByView(ctx context.Context) error {
	t, view := w.t, w.view.after
	if err := t.MatchNamespace(view); err != nil {
		return err
	}
	api.DedupOwnerReferences(view, true, request.From(ctx).Warn) // the object has others
	obj, err := w.view.Change(w.obj, view)
	if err != nil {
		return err
	}
	obj.SetResourceVersion(view.GetResourceVersion())
	if uid := view.GetUID(); uid != "" {
		obj.SetUID(uid)
	}
	owners, err := ssa.ParentFields(obj.GetManagedFields(), view.GetManagedFields(), t.Version.String(), w.view.Replicas)
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
	if a.Object, err = w.view.View.View(w.obj); err != nil {
		return err
	}
	a.Old, err = w.view.View.View(w.old)
	return err
}
