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

// Namespaces returns a function that reads a namespace, from the cache if it has it.
func (o *Objects) Namespaces() func(ctx context.Context, name string) (*corev1.Namespace, error) {
	r := NamespacesOf(o)
	return func(ctx context.Context, name string) (*corev1.Namespace, error) { return r.Get(ctx, "", name) }
}

// Kind returns the resource of a kind.
func (o *Objects) Kind(kind schema.GroupVersionKind) (*api.Resource, *api.Version, bool) {
	res, v, ok := o.catalogue.Kind(kind.GroupVersion(), kind.Kind)
	return res, v, ok && res.Virtual == nil
}

// RegisteredKind returns the resource of a kind, which need not be stored.
func (o *Objects) RegisteredKind(kind schema.GroupVersionKind) (*api.Resource, *api.Version, bool) {
	return o.catalogue.Kind(kind.GroupVersion(), kind.Kind)
}

// CatalogueState returns a value that changes whenever the catalogue changes.
func (o *Objects) CatalogueState() any { return o.catalogue.State() }

// Lookup returns a served resource by its name in paths.
func (o *Objects) Lookup(r schema.GroupVersionResource) (*api.Resource, *api.Version, bool) {
	return o.catalogue.Lookup(r.GroupVersion(), r.Resource)
}

// Get reads an object of any resource from the cache. It must not be changed.
func (o *Objects) Get(ctx context.Context, res *api.Resource, namespace, name string) (api.Object, error) {
	t := registry.Target{Resource: res, Version: &res.Versions[0], Namespace: namespace, Name: name}
	item, err := o.registry.Get(ctx, t, storage.Read{Match: storage.Followed})
	if err != nil {
		return nil, err
	}
	return item.Object()
}

// List reads the selected objects of any resource from the cache. They must not be changed.
func (o *Objects) List(ctx context.Context, res *api.Resource, namespace string, selector labels.Selector) ([]api.Object, error) {
	t := registry.Target{Resource: res, Version: &res.Versions[0], Namespace: namespace}
	l, err := o.registry.List(ctx, t, registry.ListOptions{
		Selection: registry.Selection{Labels: selector}, Read: storage.Read{Match: storage.Followed}})
	if err != nil {
		return nil, err
	}
	return l.Objects()
}

// Derived holds a value for each object of a resource, such as the compiled form of a policy. It
// derives the value once per generation of an object, on first use; as long as no object changes,
// withObjects costs next to nothing.
type Derived[T api.Object, V any] struct {
	reader  *Reader[T]
	derive  func(T) V
	mu      sync.Mutex // serializes replacing current
	current atomic.Pointer[DerivedValues[V]]
	empty   DerivedValues[V] // the values if the resource is not in the catalogue
}

// DerivedValues are the values of all objects at one time, in the order of the objects' names. It
// is immutable, so comparing pointers detects changes.
type DerivedValues[V any] struct {
	All          []V
	state        any
	byGeneration map[generation]V
}

// generation identifies one version of an object's spec.
type generation struct {
	uid types.UID
	n   int64
}

// NewDerived returns a Derived that calls derive for the objects of a resource, which must have
// generations.
func NewDerived[T api.Object, V any](o *Objects, gr schema.GroupResource, derive func(T) V) *Derived[T, V] {
	return &Derived[T, V]{reader: NewReader[T](o, gr), derive: derive}
}

// Values returns the values of the objects in the cache.
func (f *Derived[T, V]) Values(ctx context.Context) (*DerivedValues[V], error) {
	if f.reader.missing != nil {
		return &f.empty, nil
	}
	state := f.reader.registry.CacheState(f.reader.target.Resource)
	if m := f.current.Load(); m != nil && m.state == state {
		return m, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	// The state is read before the list, so the list is at least as new and no change is missed.
	state = f.reader.registry.CacheState(f.reader.target.Resource)
	last := f.current.Load()
	if last != nil && last.state == state {
		return last, nil
	}
	objects, err := f.reader.List(ctx, "")
	if err != nil {
		return nil, err
	}
	var before map[generation]V
	if last != nil {
		before = last.byGeneration
	}
	m := &DerivedValues[V]{All: make([]V, len(objects)), state: state, byGeneration: make(map[generation]V, len(objects))}
	for i, obj := range objects {
		g := generation{obj.GetUID(), obj.GetGeneration()}
		v, ok := before[g]
		if !ok {
			v = f.derive(obj)
		}
		m.All[i], m.byGeneration[g] = v, v
	}
	f.current.Store(m)
	return m, nil
}
