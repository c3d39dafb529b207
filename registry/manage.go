package registry

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/ssa"
)

// fieldManagers keeps one field manager for each resource, made when it is needed.
type fieldManagers struct {
	schemas  ssa.Schemas
	managers sync.Map // *api.Resource -> *ssa.Manager
}

// forResource returns the manager of a resource; nil when there are no schemas to go by.
func (f *fieldManagers) forResource(res *api.Resource) *ssa.Manager {
	if f.schemas == nil {
		return nil
	}
	if m, ok := f.managers.Load(res); ok {
		return m.(*ssa.Manager)
	}
	m, _ := f.managers.LoadOrStore(res, ssa.New(res, f.schemas, ssa.ResetsOf(res)))
	return m.(*ssa.Manager)
}

// dropResource drops what is kept of a resource that is no more.
func (f *fieldManagers) dropResource(res *api.Resource) {
	for _, form := range res.Forms {
		f.dropForm(form)
	}
	f.dropForm(res)
}

func (f *fieldManagers) dropForm(res *api.Resource) {
	f.managers.Delete(res)
	for _, sub := range res.Subresources {
		if sub.Kind != nil {
			f.managers.Delete(sub.Kind)
		}
	}
}

// subresource is the name of the subresource that t names.
func (t Target) subresource() string {
	switch {
	case t.Status:
		return "status"
	case t.Sub != nil:
		return t.Sub.Name
	}
	return ""
}

func (r *Registry) fieldWrite(t Target, manager string) ssa.Write {
	return ssa.Write{Version: t.Version, Subresource: t.subresource(), Manager: manager, Now: r.o.Now()}
}

// updateManagedFields notes in obj who owns which of its fields after this write; live is
// nil for a new object. It is called with the object as the request made it.
func (r *Registry) updateManagedFields(t Target, live, obj api.Object, o WriteOptions) {
	m := r.fields.forResource(t.Resource)
	if m == nil || o.Manager == "" {
		obj.SetManagedFields(nil)
		if live != nil {
			obj.SetManagedFields(live.GetManagedFields())
		}
		return
	}
	// An object without managedFields can be written all the same.
	if t.isScale() && live != nil {
		_ = r.updateScaleManagedFields(t, live, obj, o.Manager)
		return
	}
	_ = m.Update(live, obj, r.fieldWrite(t, o.Manager))
}

// isScale tells whether t names a subresource of another kind, which has fields
// of its own with owners of their own.
func (t Target) isScale() bool { return t.Sub != nil && t.Sub.Replicas != nil }

// scaleWrite is a write of the kind of the subresource that t names.
func (r *Registry) scaleWrite(t Target, manager string) ssa.Write {
	w := r.fieldWrite(t, manager)
	w.Version = &t.Sub.Kind.Versions[0]
	return w
}

// scaleOf returns obj as its scale, with the owners that its fields have there.
func (t Target) scaleOf(obj api.Object) (api.Object, error) {
	scale, err := t.SubresourceView(obj)
	if err != nil {
		return nil, err
	}
	owners, err := ssa.ScaleFields(obj.GetManagedFields(), t.Sub.Replicas)
	scale.SetManagedFields(owners)
	return scale, err
}

// updateScaleManagedFields notes in obj, which a write of its scale made of live, who owns
// what of it.
func (r *Registry) updateScaleManagedFields(t Target, live, obj api.Object, manager string) error {
	obj.SetManagedFields(live.GetManagedFields())
	before, err := t.scaleOf(live)
	if err != nil {
		return err
	}
	after, err := t.SubresourceView(obj)
	if err != nil {
		return err
	}
	if err := r.fields.forResource(t.Sub.Kind).Update(before, after, r.scaleWrite(t, manager)); err != nil {
		return err
	}
	return t.setScaleOwners(obj, after)
}

// setScaleOwners gives obj the owners that its scale has.
func (t Target) setScaleOwners(obj, scale api.Object) error {
	owners, err := ssa.ParentFields(obj.GetManagedFields(), scale.GetManagedFields(), t.Version.String(), t.Sub.Replicas)
	if err == nil {
		obj.SetManagedFields(owners)
	}
	return err
}

// revertTimeChanges takes back a change of nothing but times in managedFields.
func (r *Registry) revertTimeChanges(t Target, live, obj api.Object) {
	if m := r.fields.forResource(t.Resource); m != nil {
		m.KeepTimes(live, obj)
	}
}

// ApplyOptions say how to apply.
type ApplyOptions struct {
	WriteOptions
	// Force takes fields from others who own them.
	Force bool
	// Create authorizes the creation of a missing object; see UpdateOptions.
	AuthorizeCreate func(context.Context) error
	// Check, when set, may refuse what comes out, before anything else looks at it.
	Check func(api.Object) error
}

// Apply merges patch, which is decoded JSON in t's version, into the object
// that t names, or creates it if o allows that.
func (r *Registry) Apply(ctx context.Context, t Target, patch map[string]any, o ApplyOptions) (Outcome, error) {
	if r.fields.forResource(t.Resource) == nil {
		return Outcome{}, apierrors.NewBadRequest("this server does not manage fields, so it cannot apply")
	}
	change := r.applyPatch
	if t.isScale() {
		change = r.applyScalePatch
	}
	return r.Update(ctx, t, func(_ context.Context, old api.Object) (api.Object, error) {
		return change(t, old, patch, o)
	}, UpdateOptions{WriteOptions: o.WriteOptions, AuthorizeCreate: o.AuthorizeCreate, IsApply: true})
}

// applyPatch is old with patch applied.
func (r *Registry) applyPatch(t Target, old api.Object, patch map[string]any, o ApplyOptions) (api.Object, error) {
	w := r.fieldWrite(t, o.Manager)
	w.Force = o.Force
	return r.mergeAndCheck(t.Resource, old, patch, w, o)
}

// applyScalePatch is old with patch applied to its scale.
func (r *Registry) applyScalePatch(t Target, old api.Object, patch map[string]any, o ApplyOptions) (api.Object, error) {
	before, err := t.scaleOf(old)
	if err != nil {
		return nil, err
	}
	w := r.scaleWrite(t, o.Manager)
	w.Force = o.Force
	scale, err := r.mergeAndCheck(t.Sub.Kind, before, patch, w, o)
	if err != nil {
		return nil, err
	}
	obj, err := t.ApplySubresource(old, scale)
	if err != nil {
		return nil, err
	}
	return obj, t.setScaleOwners(obj, scale)
}

// mergeAndCheck is old, which is of a resource, with patch applied and looked at.
func (r *Registry) mergeAndCheck(res *api.Resource, old api.Object, patch map[string]any, w ssa.Write, o ApplyOptions) (api.Object, error) {
	obj, err := r.fields.forResource(res).Apply(old, patch, w)
	if err == nil && o.Check != nil {
		err = o.Check(obj)
	}
	return obj, err
}
