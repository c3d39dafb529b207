package ssa

import (
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/untyped"
)

// Schemas finds what the schema says of a kind; ok is false when it has none.
type Schemas func(schema.GroupVersionKind) (t typed.ParseableType, ok bool)

// Manager keeps the managedFields of the objects of one resource. It is safe
// for concurrent use.
type Manager struct {
	resource *api.Resource
	schemas  Schemas
	// resets are those of every subresource that has any.
	resets map[string]Set

	mu    sync.Mutex
	views map[schema.GroupVersion]*view
}

// view is one version of the resource.
type view struct {
	version *api.Version
	parse   typed.ParseableType
	root    *Type
	// plan is nil when objects are not of Go types.
	plan *plan
	// empty is an object with nothing in it.
	empty api.Object
}

// Write is who writes, and how.
type Write struct {
	// Version is what the request speaks.
	Version *api.Version
	// Subresource is empty for the object itself.
	Subresource string
	// Manager is the name of who writes, as ManagerName gives it.
	Manager string
	// Force, for Apply: take fields from others who own them.
	Force bool
	// Now is when it happens.
	Now time.Time
}

// New makes a Manager of res. Schemas are looked up when they are needed, each
// once.
func New(res *api.Resource, schemas Schemas, resets Resets) *Manager {
	m := &Manager{
		resource: res, schemas: schemas, views: map[schema.GroupVersion]*view{},
		resets: map[string]Set{},
	}
	for subresource := range resets {
		m.resets[subresource] = resets.of(subresource)
	}
	return m
}

// view returns the version gv of the resource; nil when it is not known, or has
// no schema.
func (m *Manager) view(gv schema.GroupVersion) (*view, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok := m.views[gv]; ok {
		return v, nil
	}
	version := m.resource.Version(gv)
	if version == nil {
		return nil, nil
	}
	gvk := gv.WithKind(m.resource.Kind)
	parse, ok := m.schemas(gvk)
	if !ok {
		m.views[gv] = nil
		return nil, nil
	}
	root, err := compile(parse)
	if err != nil {
		return nil, errorf("schema of %s: %w", gvk, err)
	}
	v := &view{version: version, parse: parse, root: root, empty: m.resource.NewOf(version)}
	if _, ok := v.empty.(*untyped.Object); !ok {
		p := &planner{made: map[planOf]*plan{}}
		v.plan = p.root(reflect.TypeOf(v.empty), root)
	}
	m.views[gv] = v
	return v, nil
}

// own returns the version that w speaks, which must be known.
func (m *Manager) own(w Write) (*view, error) {
	v, err := m.view(w.Version.GroupVersion)
	if err == nil && v == nil {
		err = errorf("no corresponding type for %v", w.Version.WithKind(m.resource.Kind))
	}
	return v, err
}

// differ returns how b differs from a, both of which are of version v.
func (v *view) differ(a, b api.Object) (Set, error) {
	if v.plan == nil {
		_, d, err := differ(v.root, content(a), content(b))
		return d, err
	}
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if want := reflect.PointerTo(v.plan.rt); x.Type() != want || y.Type() != want {
		return nil, errorf("objects are %T and %T, not %v", a, b, want)
	}
	_, d, err := v.plan.differ(x, y)
	return d, err
}

// content is what can be owned of an object that is not of a Go type.
func content(obj api.Object) map[string]any {
	u, ok := obj.(*untyped.Object)
	if !ok {
		return nil
	}
	return ownable(u.Object)
}

// ownable is a copy of an object without what nobody owns.
func ownable(object map[string]any) map[string]any {
	out := without(object, "kind", "apiVersion")
	if meta, ok := out["metadata"].(map[string]any); ok {
		if _, ok := meta["managedFields"]; ok {
			out["metadata"] = without(meta, "managedFields")
		}
	}
	return out
}

func without(m map[string]any, names ...string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	for _, name := range names {
		delete(out, name)
	}
	return out
}
