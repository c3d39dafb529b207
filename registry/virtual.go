package registry

import (
	"context"
	"fmt"

	"github.com/miniapiserver/miniapiserver/api"
)

// Source computes the objects of a virtual resource.
type Source interface {
	// Get returns one object, or a NotFound Status when there is none.
	Get(ctx context.Context, name string) (api.Object, error)
	// List returns all, in the order in which clients get them.
	List(ctx context.Context) ([]api.Object, error)
}

func (r *Registry) source(t Target) (Source, error) {
	s, ok := r.o.Virtual[t.Resource.Virtual.Source]
	if !ok {
		return nil, fmt.Errorf("nothing computes %s", t.Resource.Name)
	}
	return s, nil
}

// VirtualGet computes one object.
func (r *Registry) VirtualGet(ctx context.Context, t Target) (api.Object, error) {
	s, err := r.source(t)
	if err != nil {
		return nil, err
	}
	obj, err := s.Get(ctx, t.Name)
	if err != nil {
		return nil, r.StatusError(t, err)
	}
	return obj, nil
}

// VirtualList computes all objects.
func (r *Registry) VirtualList(ctx context.Context, t Target) ([]api.Object, error) {
	s, err := r.source(t)
	if err != nil {
		return nil, err
	}
	return s.List(ctx)
}

// VirtualCreate takes an object that is not kept: what it asks for is done to
// the object of the same name of the resource that Virtual.Changes names.
func (r *Registry) VirtualCreate(ctx context.Context, t Target, obj api.Object, o WriteOptions) error {
	if err := setNamespace(t, obj); err != nil {
		return err
	}
	v := t.Resource.Virtual
	res, version, ok := r.catalogue.Lookup(t.Version.GroupVersion, v.Changes)
	if !ok {
		return fmt.Errorf("%s changes %s, which is not served", t.Resource.Name, v.Changes)
	}
	changed := Target{Resource: res, Version: version, Namespace: t.Namespace, Name: obj.GetName()}
	_, err := r.Update(ctx, changed, func(_ context.Context, old api.Object) (api.Object, error) {
		return v.Change(old, obj)
	}, UpdateOptions{WriteOptions: o, Whole: true})
	return err
}
