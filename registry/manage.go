package registry

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/ssa"
)

// FieldManagers are the field managers of some resources.
type FieldManagers map[*api.Resource]*ssa.Manager

// NewFieldManagers returns the field managers of resources. Registries that serve the same resources can share them.
func NewFieldManagers(resources []*api.Resource, schemas ssa.Schemas) FieldManagers {
	f := FieldManagers{}
	for _, res := range resources {
		f[res] = ssa.New(res, schemas, ssa.ResetsOf(res))
	}
	return f
}

// fieldManagers has a field manager for each resource: a shared one, or one that is created on first use.
type fieldManagers struct {
	schemas  ssa.Schemas
	shared   FieldManagers
	managers sync.Map // *api.Resource -> *ssa.Manager
}

// forResource returns the field manager of a resource; nil if field management is off.
func (f *fieldManagers) forResource(res *api.Resource) *ssa.Manager {
	if f.schemas == nil {
		return nil
	}
	if m, ok := f.shared[res]; ok {
		return m
	}
	if m, ok := f.managers.Load(res); ok {
		return m.(*ssa.Manager)
	}
	m, _ := f.managers.LoadOrStore(res, ssa.New(res, f.schemas, ssa.ResetsOf(res)))
	return m.(*ssa.Manager)
}

// PrepareFieldManagement compiles the schemas of resources, which otherwise their first
// writes do.
func (r *Registry) PrepareFieldManagement(resources ...schema.GroupResource) {
	for _, gr := range resources {
		res, v, err := r.LookupResource(gr)
		if err != nil {
			continue // not served here, and never written
		}
		if m := r.fields.forResource(res); m != nil {
			m.Prepare(v)
		}
	}
}

// dropResource drops the field managers of a resource that is no longer served.
func (f *fieldManagers) dropResource(res *api.Resource) {
	for _, form := range res.Forms() {
		f.dropForm(form)
	}
	f.dropForm(res)
}

func (f *fieldManagers) dropForm(res *api.Resource) {
	f.managers.Delete(res)
	for _, kind := range res.BodyKinds() {
		f.managers.Delete(kind)
	}
}

// subresource returns the name of the subresource that t names, or "".
func (t Target) subresource() string {
	switch {
	case t.Status:
		return "status"
	case t.Sub != nil:
		name, _ := t.Sub.Path()
		return name
	}
	return ""
}

// fieldManager returns the manager of the fields of the objects that requests to t write, nil if field
// management is off, and what it needs to know of a write.
func (r *Registry) fieldManager(t Target, manager string) (*ssa.Manager, ssa.Write) {
	w := ssa.Write{Version: t.Version, Subresource: t.subresource(), Manager: manager, Now: r.o.Now()}
	if v, ok := t.Sub.(*api.View); ok {
		w.Version = &v.Kind.Versions[0]
		return r.fields.forResource(v.Kind), w
	}
	return r.fields.forResource(t.Resource), w
}

// updateManagedFields updates the managedFields of obj for a write that changed live, which
// is nil for a new object. It runs on the object as the request changed it.
func (r *Registry) updateManagedFields(t Target, live, obj api.Object, o WriteOptions) {
	m, w := r.fieldManager(t, o.Manager)
	w.Shuffle = o.Shuffle
	// An error does not prevent the write. The object keeps the managedFields of live, which would
	// be lost if, for example, a conversion webhook were not available for a moment.
	if m == nil || o.Manager == "" || m.Update(live, obj, w) != nil {
		obj.SetManagedFields(nil)
		if live != nil {
			obj.SetManagedFields(live.GetManagedFields())
		}
	}
}

// ApplyOptions are the options of an apply.
type ApplyOptions struct {
	WriteOptions
	// Force takes over fields of other managers.
	Force bool
	// AuthorizeCreate authorizes the creation of a missing object; see UpdateOptions.
	AuthorizeCreate func(context.Context) error
	// Check, unless it is nil, may refuse the resulting object before any other check.
	Check func(api.Object) error
}

// Apply applies patch, which is decoded JSON in the version of t, to the object that t
// names. It creates a missing object if o allows that.
func (r *Registry) Apply(ctx context.Context, t Target, patch map[string]any, o ApplyOptions) (Outcome, error) {
	m, w := r.fieldManager(t, o.Manager)
	if m == nil {
		return Outcome{}, apierrors.NewBadRequest("this server does not manage fields, so it cannot apply")
	}
	w.Force, w.Shuffle = o.Force, o.Shuffle
	return r.Update(ctx, t, func(ctx context.Context, old api.Object) (api.Object, error) {
		obj, err := m.Apply(old, patch, w)
		if err != nil && !apierrors.IsBadRequest(err) { // else the patch itself is wrong
			request.From(ctx).Account.Refuse(request.Refusal{By: request.RefusedByFieldManagers})
		}
		if err == nil && old == nil && obj.GetUID() != "" {
			err = apierrors.NewConflict(t.groupResource(), t.Name,
				fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", obj.GetUID()))
		}
		if err == nil && o.Check != nil {
			err = o.Check(obj)
		}
		return obj, err
	}, UpdateOptions{WriteOptions: o.WriteOptions, AuthorizeCreate: o.AuthorizeCreate, IsApply: true})
}
