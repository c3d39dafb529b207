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
// for longer than the scope lasts. The end of a scope therefore writes a fence, named by the
// UID of the scope, which the transaction of the creation requires to be absent. So the
// content of a scope is complete when its deletion begins, and whoever finds it empty then can
// remove it.
//
// The fence of a namespace is written by the transaction that marks it as terminating, and
// that of a definition before its objects are deleted.

// Guard has a creation fail if the object in whose scope it takes place ends before the
// creation is stored.
type Guard struct {
	// Scope names the object, UID is that of the object that allowed the creation.
	Scope Target
	UID   types.UID
	// Check returns the error of a creation if the present state of the object does not allow it.
	Check func(a *Attributes, scope api.Object) error
}

// SetGuard sets the guard of the creation.
func (a *Attributes) SetGuard(g Guard) { a.guard = g }

// store creates the object in the collection unless its scope has ended.
func (w *creation) store(ctx context.Context, c *storage.Collection, obj api.Object) (*storage.Item, error) {
	var fences [2]string
	n := 0
	if fence := w.t.Resource.Fence; fence != "" {
		fences[n] = fence
		n++
	}
	if w.attributes != nil && w.attributes.guard.UID != "" {
		fences[n] = string(w.attributes.guard.UID)
		n++
	}
	item, err := c.Create(ctx, w.t.Key(), obj, fences[:n]...)
	if errors.Is(err, storage.ErrFenced) {
		return nil, w.errScopeEnded(ctx)
	}
	return item, err
}

// errScopeEnded returns the error for a creation whose scope has ended: that of a request that begins now.
func (w *creation) errScopeEnded(ctx context.Context) error {
	if w.attributes != nil && w.attributes.guard.UID != "" {
		g := w.attributes.guard
		item, err := w.r.Get(ctx, g.Scope, storage.Read{})
		if err != nil {
			return err
		}
		scope, err := item.Object()
		if err != nil {
			return err
		}
		if scope.GetUID() != g.UID { // the creation was admitted to the former object
			return w.r.StatusError(g.Scope, storage.ErrNotFound)
		}
		if err := g.Check(w.attributes, scope); err != nil {
			return err
		}
	}
	if err := w.checkCreatable(ctx); err != nil {
		return err
	}
	return errResourceRemoved() // another definition may be in its place
}

// Fence ends all creations of objects of a resource whose Create.Fence is name. A list that is
// read afterwards has all objects that were created.
func (r *Registry) Fence(ctx context.Context, gr schema.GroupResource, name string) error {
	_, err := r.storeOf(gr).PutFence(ctx, name)
	return err
}

// ownFence returns the fence that the end of an object writes, if the object is a scope.
func ownFence(res *api.Resource, obj api.Object) []string {
	if !res.Delete.IsScope {
		return nil
	}
	return []string{string(obj.GetUID())}
}

// fenceScope ends the creations in a scope before a finalizer is removed from it. Fences are missing
// in other etcds, and if a kube-apiserver has marked the scope. The writer may then have found the
// scope empty before the fence was there. It is therefore refused once, which has it look again.
func (w *update) fenceScope(ctx context.Context) error {
	if !w.t.Resource.Delete.IsScope || w.o.DryRun || !removesFinalizer(w.t.Resource, w.obj, w.old) {
		return nil
	}
	isNew := false
	for _, store := range w.r.allStores() {
		wasMissing, err := store.PutFence(ctx, string(w.old.GetUID()))
		if err != nil {
			return fmt.Errorf("end the creation of objects in %s: %w", w.t.Name, err)
		}
		isNew = isNew || wasMissing
	}
	if isNew {
		return apierrors.NewForbidden(w.t.groupResource(), w.t.Name,
			errors.New("objects could be created in it until now; make sure that none is left, and finalize it again"))
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

// allStores returns the stores of all resources.
func (r *Registry) allStores() []*storage.Store {
	all := []*storage.Store{r.store}
	for _, s := range r.o.Stores {
		if !slices.Contains(all, s) && s.HasHistory() { // kinds in memory have no scope
			all = append(all, s)
		}
	}
	return all
}
