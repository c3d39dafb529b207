package registry

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
// refused: it is deleted in the usual way. The authorize function is called before
// admission.
func (r *Registry) DeleteCorrupt(ctx context.Context, t Target, o DeleteOptions, authorize func() error) error {
	c := r.collection(t.Resource)
	item, err := c.Get(ctx, t.Key(), storage.Read{})
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return r.StatusError(t, err)
	}
	if err != nil || item.Corrupt() == nil {
		return errReadable(t)
	}
	if err := authorize(); err != nil {
		return err
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

// errReadable returns the error for an unsafe deletion of an object that can be decoded or
// does not exist.
func errReadable(t Target) error {
	// As in kube-apiserver, the error has the resource in place of the kind.
	gr := t.groupResource()
	return apierrors.NewInvalid(schema.GroupKind{Group: gr.Group, Kind: gr.Resource}, t.Name, field.ErrorList{
		field.Invalid(IgnoreReadErrors(), true, "is exclusively used to delete corrupt object(s), try again by removing this option")})
}

// errModified returns the error for a write of an object that another client changed
// meanwhile.
func (r *Registry) errModified(t Target) error {
	return apierrors.NewConflict(t.groupResource(), t.Name, errors.New(modifiedMessage))
}
