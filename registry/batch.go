package registry

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/storage"
)

// CreateMissing creates those of objects, which are of the hub type and have
// their names and namespaces, that are not there yet, as manager, in as few
// writes as can be. Admission is not asked, and nothing is allocated: it is for
// what the server itself makes at its start.
func (r *Registry) CreateMissing(ctx context.Context, objects []InitialObject, manager string) error {
	var missing []InitialObject
	// The cache will do, once it has what was deleted just before: a second start
	// writes nothing.
	var read storage.Read
	for _, m := range objects {
		_, err := r.Get(ctx, m.target(), read)
		read.Match = storage.Any
		if err != nil {
			missing = append(missing, m)
		}
	}
	for len(missing) > 0 {
		n := min(len(missing), storage.MaxBatch)
		if err := r.createBatch(ctx, missing[:n], manager); err != nil {
			return err
		}
		missing = missing[n:]
	}
	return nil
}

// InitialObject is an object of the server's own making.
type InitialObject struct {
	Resource *api.Resource
	Object   api.Object
}

func (m InitialObject) target() Target {
	return Target{Resource: m.Resource, Version: &m.Resource.Versions[0], Namespace: m.Object.GetNamespace(), Name: m.Object.GetName()}
}

func (r *Registry) createBatch(ctx context.Context, objects []InitialObject, manager string) error {
	batch := make([]storage.NewObject, len(objects))
	for i, m := range objects {
		t := m.target()
		if m.Resource.Default != nil {
			m.Resource.Default(m.Object)
		}
		r.updateManagedFields(t, nil, m.Object, WriteOptions{Manager: manager})
		if err := r.prepareCreate(ctx, t, m.Object); err != nil {
			return err
		}
		if err := r.checkCreate(ctx, t, m.Object); err != nil {
			return err
		}
		batch[i] = storage.NewObject{In: r.collection(m.Resource), Key: t.Key(), Object: m.Object}
	}
	err := r.store.CreateAll(ctx, batch)
	if !errors.Is(err, storage.ErrExists) {
		return err
	}
	// Another server is starting too: one by one.
	for _, m := range objects {
		_, err := r.storeNew(ctx, m.target(), m.Object, WriteOptions{Manager: manager})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// Cursor follows the objects of a resource; see storage.Cursor.
func (r *Registry) Cursor(gr schema.GroupResource) (*storage.Cursor, error) {
	res, _, err := r.lookupResource(gr)
	if err != nil {
		return nil, err
	}
	return r.CursorOf(res), nil
}

// CursorOf is Cursor for a resource that is at hand.
func (r *Registry) CursorOf(res *api.Resource) *storage.Cursor { return r.collection(res).Cursor() }

// FindResource finds a stored resource whether it is served or not.
func (r *Registry) FindResource(gr schema.GroupResource) (*api.Resource, error) {
	res, _, err := r.lookupResource(gr)
	return res, err
}
