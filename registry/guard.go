package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/storage"
)

// An object is created in a scope: its namespace, and the definition of its kind. Admission
// and checkCreatable look at the scope first, and a webhook may hold the creation afterwards
// for longer than the scope lasts. The transaction of the creation therefore compares the
// scope again (storage.Guard), so that the content of a scope is complete when its deletion
// begins, and whoever finds it empty then can remove it.

// Guard has a creation fail if the object in whose scope it takes place changes before the
// creation is stored.
type Guard struct {
	// Scope names the object, UID and Revision are those of its state that allowed the creation.
	Scope    Target
	UID      types.UID
	Revision int64
	// Check returns the error of a creation if the present state of the object does not allow it.
	Check func(a *Attributes, scope api.Object) error
}

// AddGuard adds a guard to the creation, in place of an earlier one of the same scope.
func (a *Attributes) AddGuard(g Guard) {
	same := func(other Guard) bool {
		return other.Scope.Resource == g.Scope.Resource && other.Scope.Key() == g.Scope.Key()
	}
	if i := slices.IndexFunc(a.guards, same); i >= 0 {
		a.guards[i] = g
		return
	}
	a.guards = append(a.guards, g)
}

// store creates the object in the collection while all guards hold. If one does not, it checks
// the scopes again and retries if they still allow the creation.
func (w *creation) store(ctx context.Context, c *storage.Collection, obj api.Object) (*storage.Item, error) {
	for n := attempts(0); ; {
		if err := n.next(ctx); err != nil {
			return nil, err
		}
		item, err := c.Create(ctx, w.t.Key(), obj, w.storageGuards(c.Store())...)
		if !errors.Is(err, storage.ErrGuard) {
			return item, err
		}
		if err := w.renewGuards(ctx); err != nil {
			return nil, err
		}
	}
}

// storageGuards returns the guards of the creation in a store. A scope in another etcd cannot be
// compared; its end is recorded by a fence.
func (w *creation) storageGuards(store *storage.Store) []storage.Guard {
	var guards []storage.Guard
	if fence := w.t.Resource.Create.Fence; fence != "" {
		guards = append(guards, store.NoFence(fence))
	}
	if w.attributes == nil {
		return guards
	}
	for _, g := range w.attributes.guards {
		if scopes := w.r.collection(g.Scope.Resource); scopes.Store() == store {
			guards = append(guards, scopes.Unchanged(g.Scope.Key(), g.Revision))
		} else {
			guards = append(guards, store.NoFence(string(g.UID)))
		}
	}
	return guards
}

// renewGuards checks the scopes of a creation again, after a guard did not hold. It returns the
// error of the creation if they do not allow it.
func (w *creation) renewGuards(ctx context.Context) error {
	renewed := false
	if w.attributes != nil {
		for i := range w.attributes.guards {
			g := &w.attributes.guards[i]
			item, err := w.r.Get(ctx, g.Scope, storage.Read{})
			if err != nil {
				return err
			}
			scope, err := item.Object()
			if err != nil {
				return err
			}
			if uid := scope.GetUID(); uid != g.UID { // the creation was admitted to the former object
				return w.r.StatusError(g.Scope, storage.ErrNotFound)
			}
			if err := g.Check(w.attributes, scope); err != nil {
				return err
			}
			renewed = renewed || item.Revision() != g.Revision
			g.Revision = item.Revision()
		}
	}
	if renewed {
		return nil
	}
	// No scope has changed, so there is a fence: that of the kind, or of a scope in another etcd.
	if err := w.checkCreatable(ctx); err != nil {
		return err
	}
	if w.t.Resource.Create.Fence != "" {
		return errResourceRemoved() // another definition may be in its place
	}
	return apierrors.NewForbidden(w.t.groupResource(), w.t.Name, errors.New("create not allowed while the scope of the object is terminating"))
}

// Fence ends all creations of objects of a resource whose Create.Fence is name. A list that is
// read afterwards has all objects that were created.
func (r *Registry) Fence(ctx context.Context, gr schema.GroupResource, name string) error {
	_, err := r.storeOf(gr).PutFence(ctx, name)
	return err
}

// fenceScope ends the creations in a scope whose objects are partly in other etcds, before a
// finalizer is removed from it. The writer may have found the scope empty before the fence was
// there. It is therefore refused once, which has it look again.
func (w *update) fenceScope(ctx context.Context) error {
	if !w.t.Resource.Delete.IsScope || len(w.r.o.Stores) == 0 || w.o.DryRun || !removesFinalizer(w.t.Resource, w.obj, w.old) {
		return nil
	}
	isNew := false
	for _, store := range w.r.storesBeside(w.r.storeOf(w.t.Resource.GroupResource())) {
		wasMissing, err := store.PutFence(ctx, string(w.old.GetUID()))
		if err != nil {
			return fmt.Errorf("end the creation of objects in %s: %w", w.t.Name, err)
		}
		isNew = isNew || wasMissing
	}
	if isNew {
		return apierrors.NewForbidden(w.t.groupResource(), w.t.Name,
			errors.New("objects could be created in another etcd until now; make sure that none is left, and finalize it again"))
	}
	return nil
}

// removesFinalizer reports whether an update removes a finalizer from a terminating object.
func removesFinalizer(res *api.Resource, obj, old api.Object) bool {
	if old.GetDeletionTimestamp() == nil {
		return false
	}
	return len(obj.GetFinalizers()) < len(old.GetFinalizers()) || hasFinalizers(res, old) && !hasFinalizers(res, obj)
}

// storesBeside returns all stores except one.
func (r *Registry) storesBeside(one *storage.Store) []*storage.Store {
	all := []*storage.Store{r.store}
	for _, s := range r.o.Stores {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return slices.DeleteFunc(all, func(s *storage.Store) bool { return s == one })
}
