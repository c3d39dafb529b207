package admission

import (
	"context"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// What plugins in packages of their own read objects by.

// Namespaces reads namespaces, from the cache unless it does not have them.
func (o *Objects) Namespaces() func(ctx context.Context, name string) (*corev1.Namespace, error) {
	r := namespacesOf(o)
	return func(ctx context.Context, name string) (*corev1.Namespace, error) { return r.get(ctx, "", name) }
}

// Kind finds the resource whose objects are of a kind.
func (o *Objects) Kind(kind schema.GroupVersionKind) (*api.Resource, *api.Version, bool) {
	res, v, ok := o.catalogue.Kind(kind.GroupVersion(), kind.Kind)
	return res, v, ok && res.Virtual == nil
}

// Kinds tells one set of kinds from another: it is equal to what it was as long as
// the catalogue stays the same.
func (o *Objects) Kinds() any { return o.catalogue.State() }

// Lookup finds a served resource by its name in paths.
func (o *Objects) Lookup(r schema.GroupVersionResource) (*api.Resource, *api.Version, bool) {
	return o.catalogue.Lookup(r.GroupVersion(), r.Resource)
}

// Get reads an object of any resource as the cache has it. It must not be
// changed.
func (o *Objects) Get(ctx context.Context, res *api.Resource, namespace, name string) (api.Object, error) {
	t := registry.Target{Resource: res, Version: &res.Versions[0], Namespace: namespace, Name: name}
	item, err := o.registry.Get(ctx, t, storage.Read{Match: storage.Any})
	if err != nil {
		return nil, err
	}
	return item.Object()
}

// List reads the objects of any resource that have certain labels, as the cache
// has them. They must not be changed.
func (o *Objects) List(ctx context.Context, res *api.Resource, namespace string, selector labels.Selector) ([]api.Object, error) {
	t := registry.Target{Resource: res, Version: &res.Versions[0], Namespace: namespace}
	l, err := o.registry.List(ctx, t, registry.ListOptions{
		Selection: registry.Selection{Labels: selector}, Read: storage.Read{Match: storage.Any}})
	if err != nil {
		return nil, err
	}
	out := make([]api.Object, len(l.Items))
	for i, item := range l.Items {
		if out[i], err = item.Object(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Followed is what is made of each object of a resource, for those that a write
// has to be judged by. It is made once per generation of an object, when it is
// first needed; while no object changes, reading it costs next to nothing.
type Followed[T api.Object, V any] struct {
	from    *reader[T]
	make    func(T) V
	mu      sync.Mutex // held while current is replaced
	current atomic.Pointer[Made[V]]
	nothing Made[V] // when there is no such resource
}

// Made is what was made of the objects as they were at some time, in the order
// of their names. It is never changed, so that its address tells of a change.
type Made[V any] struct {
	All   []V
	state any
	by    map[generation]V
}

// generation is what an object asks for, for as long as that is the same.
type generation struct {
	uid types.UID
	n   int64
}

// Follow makes V of each object of a resource whose objects have generations.
func Follow[T api.Object, V any](o *Objects, gr schema.GroupResource, make func(T) V) *Followed[T, V] {
	return &Followed[T, V]{from: read[T](o, gr), make: make}
}

// Now is what is made of the objects that the cache has.
func (f *Followed[T, V]) Now(ctx context.Context) (*Made[V], error) {
	if f.from.missing != nil {
		return &f.nothing, nil
	}
	state := f.from.registry.State(f.from.target.Resource)
	if m := f.current.Load(); m != nil && m.state == state {
		return m, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	// What is listed is at least as new as this, so that nothing is missed.
	state = f.from.registry.State(f.from.target.Resource)
	last := f.current.Load()
	if last != nil && last.state == state {
		return last, nil
	}
	objects, err := f.from.list(ctx, "")
	if err != nil {
		return nil, err
	}
	var before map[generation]V
	if last != nil {
		before = last.by
	}
	m := &Made[V]{All: make([]V, len(objects)), state: state, by: make(map[generation]V, len(objects))}
	for i, obj := range objects {
		g := generation{obj.GetUID(), obj.GetGeneration()}
		v, ok := before[g]
		if !ok {
			v = f.make(obj)
		}
		m.All[i], m.by[g] = v, v
	}
	f.current.Store(m)
	return m, nil
}
