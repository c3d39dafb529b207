package registry

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/storage"
)

// IgnoreReadErrors returns the path of the delete option that asks for DeleteCorrupt.
func IgnoreReadErrors() *field.Path {
	return field.NewPath("ignoreStoreReadErrorWithClusterBreakingPotential")
}

// DeleteCorrupt removes the object that t names from storage although it cannot be
// decoded. Finalizers, grace periods and preconditions are not considered, because they
// cannot be read. Admission sees an object with a name only. A readable object is
// refused: it is deleted in the usual way. The authorize function is called first, so
// that users without the permission do not learn which objects exist.
func (r *Registry) DeleteCorrupt(ctx context.Context, t Target, o DeleteOptions, authorize func() error) error {
	if err := authorize(); err != nil {
		return err
	}
	if err := t.CheckName(); err != nil {
		return err
	}
	c := r.collection(t.Resource)
	item, err := c.Get(ctx, t.Key(), storage.Read{})
	if err != nil {
		return r.StatusError(t, err)
	}
	if item.Corrupt() == nil {
		return apierrors.NewConflict(t.groupResource(), t.Name,
			r.invalidObject(t, r.o.EtcdPrefix, "unsafe deletion is not allowed because the object is decodable from storage"))
	}
	old := t.Resource.New()
	old.SetNamespace(t.Namespace)
	old.SetName(t.Name)
	a := r.newAttributes(ctx, t, api.VerbDelete, nil, old, o.WriteOptions)
	if a != nil {
		a.deletion = &o
	}
	if err := r.mutate(ctx, a); err != nil {
		return err
	}
	if err := r.validate(ctx, a); err != nil {
		return err
	}
	if o.DryRun {
		return nil
	}
	_, err = c.Delete(ctx, item)
	var conflict *storage.ConflictError
	switch {
	case errors.As(err, &conflict):
		// Another client has replaced the value, which may be decodable now.
		return r.errModified(t)
	case err == nil, errors.Is(err, storage.ErrNotFound):
		return nil
	}
	return r.StatusError(t, err)
}

// errModified returns the error for a write of an object that another client changed
// meanwhile.
func (r *Registry) errModified(t Target) error {
	return apierrors.NewConflict(t.groupResource(), t.Name, errors.New(modifiedMessage))
}
