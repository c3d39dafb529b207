package registry

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/storage"
)

// DeleteCollection deletes the objects that sel selects. It returns the list of these objects, with
// those that another client deleted meanwhile and those whose deletion was refused as not found.
func (r *Registry) DeleteCollection(ctx context.Context, t Target, sel ListOptions, o DeleteOptions) (*storage.List, error) {
	sel.Verify = true
	list, err := r.List(ctx, t, sel)
	if err != nil {
		return nil, err
	}
	if sel.Objects != nil { // nothing is deleted unless all can be listed in the version of the request
		if err := convertAll(ctx, sel, list.Items); err != nil {
			return nil, r.ListConverted(ctx, t, sel, err)
		}
	}
	o.collection = true
	if err := r.deleteItems(ctx, t, list.Items, o); err != nil {
		return nil, err
	}
	return list, nil
}

// convertAll converts items, and keeps what it has converted.
func convertAll(ctx context.Context, sel ListOptions, all []*storage.Item) error {
	for items := range slices.Chunk(all, MaxConversionBatch) {
		if _, err := sel.Objects(ctx, items); err != nil {
			return err
		}
	}
	return nil
}

// deleteItems deletes items, several at a time if the options say so. The first failure keeps the rest
// from being deleted.
func (r *Registry) deleteItems(ctx context.Context, t Target, items []*storage.Item, o DeleteOptions) error {
	var next atomic.Int64
	var failed sync.Once
	var failure error
	var stopped atomic.Bool
	work := func() {
		for i := int(next.Add(1)) - 1; i < len(items) && !stopped.Load(); i = int(next.Add(1)) - 1 {
			one := t
			one.Namespace, one.Name = items[i].Namespace(), items[i].Name()
			_, err := r.delete(ctx, one, o)
			if err != nil && !apierrors.IsNotFound(err) {
				failed.Do(func() { failure = err })
				stopped.Store(true)
				return
			}
		}
	}
	var others sync.WaitGroup
	for range min(r.o.DeleteCollectionWorkers, len(items)) - 1 {
		others.Go(func() {
			if err := recovery.Call(nil, "deleting a collection", work); err != nil {
				failed.Do(func() { failure = err })
				stopped.Store(true)
			}
		})
	}
	defer others.Wait() // also if work panics
	work()
	others.Wait()
	return failure
}
