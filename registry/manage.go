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

// of returns the manager of a resource; nil when there are no schemas to go by.
func (f *fieldManagers) of(res *api.Resource) *ssa.Manager {
	if f.schemas == nil {
		return nil
	}
	if m, ok := f.managers.Load(res); ok {
		return m.(*ssa.Manager)
	}
	m, _ := f.managers.LoadOrStore(res, ssa.New(res, f.schemas, ssa.ResetsOf(res)))
	return m.(*ssa.Manager)
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

// manage notes in obj who owns which of its fields after this write; live is
// nil for a new object. It is called with the object as the request made it.
func (r *Registry) manage(t Target, live, obj api.Object, o WriteOptions) {
	m := r.fields.of(t.Resource)
	if m == nil || o.Manager == "" {
		if live != nil {
			obj.SetManagedFields(live.GetManagedFields())
		}
		return
	}
	// An object without managedFields can be written all the same.
	_ = m.Update(live, obj, r.fieldWrite(t, o.Manager))
}

// keepTimes takes back a change of nothing but times in managedFields.
func (r *Registry) keepTimes(t Target, live, obj api.Object) {
	if m := r.fields.of(t.Resource); m != nil {
		m.KeepTimes(live, obj)
	}
}

// ApplyOptions say how to apply.
type ApplyOptions struct {
	WriteOptions
	// Force takes fields from others who own them.
	Force bool
	// Check, when set, may refuse what comes out, before anything else looks at it.
	Check func(api.Object) error
}

// Apply merges patch, which is decoded JSON in t's version, into the object
// that t names, or creates it.
func (r *Registry) Apply(ctx context.Context, t Target, patch map[string]any, o ApplyOptions) (Outcome, error) {
	m := r.fields.of(t.Resource)
	if m == nil {
		return Outcome{}, apierrors.NewBadRequest("this server does not manage fields, so it cannot apply")
	}
	w := r.fieldWrite(t, o.Manager)
	w.Force = o.Force
	return r.Update(ctx, t, func(_ context.Context, old api.Object) (api.Object, error) {
		obj, err := m.Apply(old, patch, w)
		if err == nil && o.Check != nil {
			err = o.Check(obj)
		}
		return obj, err
	}, UpdateOptions{WriteOptions: o.WriteOptions, CreateMissing: true, Applied: true})
}
