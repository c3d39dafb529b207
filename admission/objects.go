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

// Objects reads API objects for plugins from the caches.
type Objects struct {
	catalogue *api.Catalogue
	registry  *registry.Registry
}

// NewObjects returns Objects that reads from reg.
func NewObjects(catalogue *api.Catalogue, reg *registry.Registry) *Objects {
	return &Objects{catalogue, reg}
}

// Registry returns the registry, for the few plugins that write objects.
func (o *Objects) Registry() *registry.Registry { return o.registry }

// Serves reports whether a built-in resource is served in some version.
func (o *Objects) Serves(gr schema.GroupResource) bool {
	return slices.ContainsFunc(o.catalogue.Resources(), func(r *api.Resource) bool {
		return r.Name == gr.Resource && slices.ContainsFunc(r.Versions, func(v api.Version) bool { return v.Group == gr.Group && !v.NotServed })
	})
}

// EmptinessOf returns a function that reports whether there certainly are no objects of a
// resource. If the catalogue does not have the resource, there are none.
func (o *Objects) EmptinessOf(gr schema.GroupResource) (isEmpty func() bool) {
	isEmpty, err := o.registry.EmptinessOf(gr)
	if err != nil {
		return func() bool { return true }
	}
	return isEmpty
}

// Reader reads the objects of one resource, whose hub type is T.
type Reader[T api.Object] struct {
	registry *registry.Registry
	target   registry.Target
	missing  error
}

// NewReader returns a reader of a resource. If the catalogue does not have the resource, the reads
// fail, so that a server without it can start.
func NewReader[T api.Object](o *Objects, gr schema.GroupResource) *Reader[T] {
	for _, res := range o.catalogue.Resources() {
		if res.GroupResource() == gr {
			return &Reader[T]{registry: o.registry, target: registry.Target{Resource: res, Version: &res.Versions[0]}}
		}
	}
	return &Reader[T]{missing: fmt.Errorf("unknown resource %s", gr)}
}

// Target returns the target of writes of an object that the reader reads.
func (r *Reader[T]) Target(namespace, name string) registry.Target {
	t := r.target
	t.Namespace, t.Name = namespace, name
	return t
}

// Get returns an object from the cache, or from etcd if the cache does not have it. The object must
// not be changed.
func (r *Reader[T]) Get(ctx context.Context, namespace, name string) (obj T, err error) {
	obj, err = r.Cached(ctx, namespace, name)
	if apierrors.IsNotFound(err) {
		return r.GetAt(ctx, namespace, name, storage.Read{})
	}
	return obj, err
}

// GetSingular is Get with the errors of kube-apiserver's listers, which name the resource of a
// missing object in the singular.
func (r *Reader[T]) GetSingular(ctx context.Context, namespace, name string) (T, error) {
	obj, err := r.Get(ctx, namespace, name)
	if apierrors.IsNotFound(err) {
		singular := schema.GroupResource{Group: r.target.Resource.Versions[0].Group, Resource: r.target.Resource.Singular}
		err = apierrors.NewNotFound(singular, name)
	}
	return obj, err
}

// Cached returns an object from the cache.
func (r *Reader[T]) Cached(ctx context.Context, namespace, name string) (T, error) {
	return r.GetAt(ctx, namespace, name, storage.Read{Match: storage.Followed})
}

// GetAt reads an object with the consistency of how. An object whose name cannot be a segment of a path
// is missing, as for kube-apiserver's listers.
func (r *Reader[T]) GetAt(ctx context.Context, namespace, name string, how storage.Read) (obj T, err error) {
	if r.missing != nil {
		return obj, r.missing
	}
	t := r.Target(namespace, name)
	if t.CheckName() != nil {
		return obj, apierrors.NewNotFound(schema.GroupResource{Group: t.Resource.Versions[0].Group, Resource: t.Resource.Name}, name)
	}
	item, err := r.registry.Get(ctx, t, how)
	if err != nil {
		return obj, err
	}
	return itemObject[T](item)
}

// itemObject returns the object of an item as a T.
func itemObject[T api.Object](item *storage.Item) (obj T, err error) {
	o, err := item.Object()
	if err != nil {
		return obj, err
	}
	obj, ok := o.(T)
	if !ok {
		return obj, fmt.Errorf("object %s is of type %T, expected %T", item.Key(), o, obj)
	}
	return obj, nil
}

// List returns the objects of a namespace, or all, from the cache. They must not be changed.
func (r *Reader[T]) List(ctx context.Context, namespace string) ([]T, error) {
	if r.missing != nil {
		return nil, r.missing
	}
	if r.registry.LooksEmpty(r.target.Resource) {
		return nil, nil // the common case, on every write
	}
	t := r.target
	t.Namespace = namespace
	l, err := r.registry.List(ctx, t, registry.ListOptions{Read: storage.Read{Match: storage.Followed}})
	if err != nil || len(l.Items) == 0 {
		return nil, err
	}
	out := make([]T, len(l.Items))
	for i, item := range l.Items {
		if out[i], err = itemObject[T](item); err != nil {
			return nil, err
		}
	}
	return out, nil
}
