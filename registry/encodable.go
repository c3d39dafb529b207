package registry

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// encodeFaults caches, for each resource, the function that finds the values of an object that
// cannot be encoded.
type encodeFaults struct{ finders sync.Map } // *api.Resource -> func(api.Object) field.ErrorList

// of returns the faults of an object that could be stored but not be encoded.
func (f *encodeFaults) of(res *api.Resource, obj api.Object) field.ErrorList {
	if res.Untyped {
		return nil
	}
	find, ok := f.finders.Load(res)
	if !ok {
		find, _ = f.finders.LoadOrStore(res, res.EncodeFaults())
	}
	if find := find.(func(api.Object) field.ErrorList); find != nil { // nil if all objects can be encoded
		return find(obj)
	}
	return nil
}

// checkOf returns storage's check of values that another program wrote; nil if all objects
// of the resource can be encoded.
func checkOf(res *api.Resource) func(api.Object) error {
	faults := res.EncodeFaults()
	if faults == nil {
		return nil
	}
	return func(obj api.Object) error {
		if errs := faults(obj); len(errs) > 0 {
			return validation.JoinFields(errs)
		}
		return nil
	}
}

// checkEncodable refuses an object that could be stored but not be encoded in all served
// versions. It runs before admission, whose plugins encode the object and would report the
// client's mistake as their own failure. The strategy prepares a copy first: it restores
// the fields that the write cannot change, and returns errors of the kind's own
// validation, which take precedence.
func (w *write) checkEncodable(ctx context.Context) error {
	if len(w.r.encodeFaults.of(w.t.Resource, w.obj)) == 0 {
		return nil
	}
	prepared := w.obj.DeepCopyObject().(api.Object)
	if err := w.prepareCopy(ctx, prepared); err != nil {
		return err
	}
	if errs := w.r.encodeFaults.of(w.t.Resource, prepared); len(errs) > 0 {
		return invalid(w.t, prepared, errs)
	}
	return nil
}
