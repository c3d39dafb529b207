package registry

import (
	"context"
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/storage"
)

// CreateMissing creates the objects that do not exist yet, with as few transactions as
// possible. The objects are of the hub type and have names and namespaces. It is for the
// objects of the server's start: admission does not run, and nothing is allocated.
func (r *Registry) CreateMissing(ctx context.Context, objects []InitialObject, manager string) error {
	missing := map[*storage.Store][]InitialObject{}
	for _, m := range objects {
		store := r.storeOf(m.Resource.GroupResource())
		// The first read of a store waits until the cache has all earlier writes. The others
		// read the cache as it is, so that a second start costs no transaction.
		absent, isRead := missing[store]
		var read storage.Read
		if isRead {
			read.Match = storage.Any
		}
		if _, err := r.Get(ctx, m.target(), read); err != nil {
			absent = append(absent, m)
		}
		missing[store] = absent
	}
	// Batches of about the same size are created at the same time.
	var batches []initialBatch
	for store, all := range missing {
		n := (len(all) + storage.MaxBatch - 1) / storage.MaxBatch
		for i := range n {
			batches = append(batches, initialBatch{store, all[i*len(all)/n : (i+1)*len(all)/n]})
		}
	}
	errs := make([]error, len(batches))
	var wg sync.WaitGroup
	for i, b := range batches {
		wg.Go(func() {
			defer recovery.Into(nil, "creating the first objects", &errs[i])
			errs[i] = r.createBatch(ctx, b.store, b.objects, manager)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// initialBatch are objects of one store, created in one transaction.
type initialBatch struct {
	store   *storage.Store
	objects []InitialObject
}

// InitialObject is an object that the server creates at its start.
type InitialObject struct {
	Resource *api.Resource
	Object   api.Object
}

func (m InitialObject) target() Target {
	return Target{Resource: m.Resource, Version: &m.Resource.Versions[0], Namespace: m.Object.GetNamespace(), Name: m.Object.GetName()}
}

// batchSteps are the steps of a creation which the server's own objects take.
var batchSteps = []func(*creation, context.Context) error{(*creation).manageFields, (*creation).prepare, (*creation).validate}

// createBatch creates objects of one store.
func (r *Registry) createBatch(ctx context.Context, store *storage.Store, objects []InitialObject, manager string) error {
	creations := make([]creation, len(objects))
	batch := make([]storage.NewObject, len(objects))
	for i, m := range objects {
		t := m.target()
		if m.Resource.Default != nil {
			m.Resource.Default(m.Object)
		}
		w := &creations[i]
		w.write = write{r: r, t: t, obj: m.Object, o: WriteOptions{Manager: manager}}
		if err := inOrder(ctx, w, batchSteps); err != nil {
			return err
		}
		batch[i] = storage.NewObject{In: r.collection(m.Resource), Key: t.Key(), Object: m.Object}
	}
	err := store.CreateAll(ctx, batch)
	if !errors.Is(err, storage.ErrExists) {
		return err
	}
	// Another server has created some of the objects meanwhile.
	var errs []error
	for i := range creations {
		err := creations[i].commit(ctx)
		if err != nil && IsUnavailable(err) {
			return err
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Cursor returns a cursor over the changes of a resource's objects as the server follows them; see storage.Cursor.
func (r *Registry) Cursor(gr schema.GroupResource) (*storage.Cursor, error) {
	res, _, err := r.LookupResource(gr)
	if err != nil {
		return nil, err
	}
	return r.collection(res).FollowingCursor(), nil
}

// CursorOf returns a cursor over all changes of a resource that the caller has looked up, also if the server follows it late.
func (r *Registry) CursorOf(res *api.Resource) *storage.Cursor { return r.collection(res).Cursor() }

// EmptinessOf returns a function that reports whether there certainly are no objects of a
// resource; see storage.Collection.LooksEmpty.
func (r *Registry) EmptinessOf(gr schema.GroupResource) (isEmpty func() bool, err error) {
	res, _, err := r.LookupResource(gr)
	if err != nil {
		return nil, err
	}
	return r.collection(res).LooksEmpty, nil
}

// FindResource returns a stored resource, served or not.
func (r *Registry) FindResource(gr schema.GroupResource) (*api.Resource, error) {
	res, _, err := r.LookupResource(gr)
	return res, err
}

// ChangeValue changes a value that is not an object, in the etcd of a resource. change returns the new
// value, or nil for no change; it is called again if the value changes meanwhile.
func (r *Registry) ChangeValue(
	ctx context.Context, of schema.GroupResource, key string, change func(value []byte) ([]byte, error),
) error {
	store := r.storeOf(of)
	for n := attempts(0); ; {
		if err := n.next(ctx); err != nil {
			return err
		}
		value, revision, err := store.Value(ctx, key)
		if err != nil {
			return err
		}
		if value, err = change(value); err != nil || value == nil {
			return err
		}
		if done, err := store.SetValue(ctx, key, revision, value); err != nil || done {
			return err
		}
	}
}
