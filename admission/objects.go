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

// serves reports whether a built-in resource is served in some version.
func (o *Objects) serves(gr groupResource) bool {
	return slices.ContainsFunc(o.catalogue.Resources(), func(r *api.Resource) bool {
		return r.Name == gr.Resource && slices.ContainsFunc(r.Versions, func(v api.Version) bool { return v.Group == gr.Group && !v.NotServed })
	})
}

// reader reads the objects of one resource, whose hub type is T.
type reader[T api.Object] struct {
	registry *registry.Registry
	target   registry.Target
	missing  error
}

// newReader returns a reader of a resource. If the catalogue does not have the resource, the reads
// fail, so that a server without it can start.
func newReader[T api.Object](o *Objects, gr schema.GroupResource) *reader[T] {
	for _, res := range o.catalogue.Resources() {
		if res.Name == gr.Resource && res.Versions[0].Group == gr.Group {
			return &reader[T]{registry: o.registry, target: registry.Target{Resource: res, Version: &res.Versions[0]}}
		}
	}
	return &reader[T]{missing: fmt.Errorf("unknown resource %s", gr)}
}

// get returns an object from the cache, or from etcd if the cache does not have it. The object must
// not be changed.
func (r *reader[T]) get(ctx context.Context, namespace, name string) (obj T, err error) {
	obj, err = r.cached(ctx, namespace, name)
	if apierrors.IsNotFound(err) {
		return r.getAt(ctx, namespace, name, storage.Read{})
	}
	return obj, err
}

// getSingular is get with the errors of kube-apiserver's listers, which name the resource of a
// missing object in the singular.
func (r *reader[T]) getSingular(ctx context.Context, namespace, name string) (T, error) {
	obj, err := r.get(ctx, namespace, name)
	if apierrors.IsNotFound(err) {
		singular := schema.GroupResource{Group: r.target.Resource.Versions[0].Group, Resource: r.target.Resource.Singular}
		err = apierrors.NewNotFound(singular, name)
	}
	return obj, err
}

// cached returns an object from the cache.
func (r *reader[T]) cached(ctx context.Context, namespace, name string) (T, error) {
	return r.getAt(ctx, namespace, name, storage.Read{Match: storage.Any})
}

func (r *reader[T]) getAt(ctx context.Context, namespace, name string, how storage.Read) (obj T, err error) {
	if r.missing != nil {
		return obj, r.missing
	}
	t := r.target
	t.Namespace, t.Name = namespace, name
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

// list returns the objects of a namespace, or all, from the cache. They must not be changed.
func (r *reader[T]) list(ctx context.Context, namespace string) ([]T, error) {
	if r.missing != nil {
		return nil, r.missing
	}
	if r.registry.IsEmpty(r.target.Resource) {
		return nil, nil // the common case, on every write
	}
	t := r.target
	t.Namespace = namespace
	l, err := r.registry.List(ctx, t, registry.ListOptions{Read: storage.Read{Match: storage.Any}})
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
