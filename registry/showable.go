package registry

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
)

// showables caches, for each resource, the function that finds the values of an object that
// cannot be encoded.
type showables struct{ faults sync.Map } // *api.Resource -> func(api.Object) field.ErrorList

// forResource returns the function of a resource; nil if all its objects can be encoded.
func (s *showables) forResource(res *api.Resource) func(api.Object) field.ErrorList {
	if res.Untyped {
		return nil
	}
	if f, ok := s.faults.Load(res); ok {
		return f.(func(api.Object) field.ErrorList)
	}
	f, _ := s.faults.LoadOrStore(res, res.Unshowable())
	return f.(func(api.Object) field.ErrorList)
}

// checkOf returns storage's check of values that another program wrote; nil if all objects
// of the resource can be encoded.
func checkOf(res *api.Resource) func(api.Object) error {
	faults := res.Unshowable()
	if faults == nil {
		return nil
	}
	return func(obj api.Object) error {
		if errs := faults(obj); len(errs) > 0 {
			return errs.ToAggregate()
		}
		return nil
	}
}

// unshowable returns the errors of an object that could be stored but not be encoded in all
// served versions.
func (r *Registry) unshowable(t Target, obj api.Object) field.ErrorList {
	faults := r.showables.forResource(t.Resource)
	if faults == nil {
		return nil
	}
	return faults(obj)
}

// checkShowable refuses an object that could be stored but not be encoded in all served
// versions. It runs before admission, whose plugins encode the object and would report the
// client's mistake as their own failure. The prepare function runs on a copy first: it
// restores the fields that the write cannot change, and returns errors of the kind's own
// validation, which take precedence.
func (r *Registry) checkShowable(t Target, obj api.Object, prepare func(api.Object) error) error {
	if len(r.unshowable(t, obj)) == 0 {
		return nil
	}
	prepared := obj.DeepCopyObject().(api.Object)
	if err := prepare(prepared); err != nil {
		return err
	}
	if errs := r.unshowable(t, prepared); len(errs) > 0 {
		return invalid(t, prepared, errs)
	}
	return nil
}
