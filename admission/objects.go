package admission

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Objects reads what plugins judge by, from the caches.
type Objects struct {
	catalogue *api.Catalogue
	registry  *registry.Registry
}

// NewObjects reads the objects of a registry.
func NewObjects(catalogue *api.Catalogue, reg *registry.Registry) *Objects {
	return &Objects{catalogue, reg}
}

// serves reports whether clients can reach a built-in resource in any version.
func (o *Objects) serves(gr groupResource) bool {
	return slices.ContainsFunc(o.catalogue.Resources(), func(r *api.Resource) bool {
		return r.Name == gr.Resource && slices.ContainsFunc(r.Versions, func(v api.Version) bool { return v.Group == gr.Group && !v.NotServed })
	})
}

// reader reads the objects of one resource, of the hub type T.
type reader[T api.Object] struct {
	registry *registry.Registry
	target   registry.Target
	missing  error
}

// read makes a reader. A resource that is not in the catalogue is told of when
// it is read, so that a server without it can do all else.
func read[T api.Object](o *Objects, gr schema.GroupResource) *reader[T] {
	for _, res := range o.catalogue.Resources() {
		if res.Name == gr.Resource && res.Versions[0].Group == gr.Group {
			return &reader[T]{registry: o.registry, target: registry.Target{Resource: res, Version: &res.Versions[0]}}
		}
	}
	return &reader[T]{missing: fmt.Errorf("there is no resource %s", gr)}
}

// get returns an object, which must not be changed; a NotFound Status when
// there is none. What the cache does not have is looked for in the store.
func (r *reader[T]) get(ctx context.Context, namespace, name string) (obj T, err error) {
	obj, err = r.cached(ctx, namespace, name)
	if apierrors.IsNotFound(err) {
		return r.at(ctx, namespace, name, storage.Read{})
	}
	return obj, err
}

// listed is get with the error of kube-apiserver's listers, which name the
// resource in the singular where an object is missing.
func (r *reader[T]) listed(ctx context.Context, namespace, name string) (T, error) {
	obj, err := r.get(ctx, namespace, name)
	if apierrors.IsNotFound(err) {
		singular := schema.GroupResource{Group: r.target.Resource.Versions[0].Group, Resource: r.target.Resource.Singular}
		err = apierrors.NewNotFound(singular, name)
	}
	return obj, err
}

// cached looks nowhere but in the cache.
func (r *reader[T]) cached(ctx context.Context, namespace, name string) (T, error) {
	return r.at(ctx, namespace, name, storage.Read{Match: storage.Any})
}

func (r *reader[T]) at(ctx context.Context, namespace, name string, how storage.Read) (obj T, err error) {
	if r.missing != nil {
		return obj, r.missing
	}
	t := r.target
	t.Namespace, t.Name = namespace, name
	item, err := r.registry.Get(ctx, t, how)
	if err != nil {
		return obj, err
	}
	return typed[T](item)
}

// typed is the object of an item.
func typed[T api.Object](item *storage.Item) (obj T, err error) {
	o, err := item.Object()
	if err != nil {
		return obj, err
	}
	obj, ok := o.(T)
	if !ok {
		return obj, fmt.Errorf("%s is a %T and not a %T", item.Key(), o, obj)
	}
	return obj, nil
}

// list returns the objects of a namespace, or all, as the cache has them. They
// must not be changed.
func (r *reader[T]) list(ctx context.Context, namespace string) ([]T, error) {
	if r.missing != nil {
		return nil, r.missing
	}
	if r.registry.Empty(r.target.Resource) {
		return nil, nil // asked by every write, and often so
	}
	t := r.target
	t.Namespace = namespace
	l, err := r.registry.List(ctx, t, registry.ListOptions{Read: storage.Read{Match: storage.Any}})
	if err != nil || len(l.Items) == 0 {
		return nil, err
	}
	out := make([]T, len(l.Items))
	for i, item := range l.Items {
		if out[i], err = typed[T](item); err != nil {
			return nil, err
		}
	}
	return out, nil
}
