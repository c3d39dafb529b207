package ssa

import (
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
)

// Schemas returns the schema of a kind; ok is false if it has none.
type Schemas func(schema.GroupVersionKind) (t typed.ParseableType, ok bool)

// Manager maintains the managedFields of the objects of one resource. It is safe for concurrent
// use.
type Manager struct {
	resource *api.Resource
	schemas  Schemas
	// resets are the reset fields by subresource.
	resets map[string]Set

	mu    sync.Mutex
	views map[schema.GroupVersion]*view
	sets  setCache
}

// view is one version of the resource with its compiled schema.
type view struct {
	version *api.Version
	// apiVersion is the version as objects contain it.
	apiVersion string
	gvk        schema.GroupVersionKind
	parse      typed.ParseableType
	root       *Type
	// plan is nil if the objects do not have Go types.
	plan *plan
	// empty is an empty object.
	empty api.Object
}

// Write describes the writer and the request.
type Write struct {
	// Version is the version of the request.
	Version *api.Version
	// Subresource is empty for the main resource.
	Subresource string
	// Manager is the name of the writer, as returned by ManagerName.
	Manager string
	// Force makes Apply take ownership of conflicting fields.
	Force bool
	// Now is the time of the write.
	Now time.Time
	// Shuffle puts n things in a random order, as rand.Rand.Shuffle does; nil keeps their order. See Write.order.
	Shuffle func(n int, swap func(i, j int))
}

// New returns a Manager of res. Schemas are looked up on first use.
func New(res *api.Resource, schemas Schemas, resets Resets) *Manager {
	m := &Manager{
		resource: res, schemas: schemas, views: map[schema.GroupVersion]*view{},
		resets: map[string]Set{},
	}
	for subresource := range resets {
		m.resets[subresource] = resets.set(subresource)
	}
	return m
}

// view returns the schema of version gv, or nil if the version is unknown or has no schema.
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
	root, err := compileType(parse)
	if err != nil {
		return nil, errorf("schema of %s: %w", gvk, err)
	}
	v := &view{version: version, apiVersion: version.String(), gvk: gvk, parse: parse, root: root, empty: m.resource.NewOf(version)}
	if _, ok := v.empty.(*untyped.Object); !ok {
		p := &planner{plans: map[planID]*plan{}}
		v.plan = p.root(reflect.TypeOf(v.empty), root)
	}
	m.views[gv] = v
	return v, nil
}

// Prepare compiles the schema of a version, which otherwise the first write does.
func (m *Manager) Prepare(v *api.Version) {
	_, _ = m.view(v.GroupVersion) // the first write reports the error
}

// requestView returns the schema of the version of w, which must exist.
func (m *Manager) requestView(w Write) (*view, error) {
	v, err := m.view(w.Version.GroupVersion)
	if err == nil && v == nil {
		err = errorf("no corresponding type for %v", w.Version.WithKind(m.resource.Kind))
	}
	return v, err
}

// diff compares two objects of version v.
func (v *view) diff(a, b api.Object) (Set, error) {
	x, y := untypedContent(a), untypedContent(b)
	if err := v.checkObject(b, y); err != nil {
		return nil, errorf("failed to convert new object (%s) to smd typed: %w", v.nameOf(b), err)
	}
	if err := v.checkObject(a, x); err != nil {
		return nil, errorf("failed to convert live object (%s) to smd typed: %w", v.nameOf(a), err)
	}
	if v.plan == nil {
		_, d, err := diff(v.root, x, y)
		return d, err
	}
	return v.diffTyped(a, b)
}

// diffTyped is differ for objects with Go types.
func (v *view) diffTyped(a, b api.Object) (Set, error) {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if want := reflect.PointerTo(v.plan.rt); x.Type() != want || y.Type() != want {
		return nil, errorf("objects are %T and %T, not %v", a, b, want)
	}
	_, d, err := v.plan.diff(x, y)
	return d, err
}

// nameOf identifies an object of version v in messages.
func (v *view) nameOf(obj api.Object) string {
	return obj.GetNamespace() + "/" + obj.GetName() + "; " + v.gvk.String()
}

// nameOf identifies an object in messages.
func nameOf(content map[string]any) string {
	u := untyped.FromContent(content)
	return u.GetNamespace() + "/" + u.GetName() + "; " + u.GroupVersionKind().String()
}

// untypedContent returns the fields of an untyped object that can be owned.
func untypedContent(obj api.Object) map[string]any {
	u, ok := obj.(*untyped.Object)
	if !ok {
		return nil
	}
	return ownable(u.Object)
}

// ownable returns a copy of an object without the fields that nobody owns.
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

// maxManagerName is the maximum size of a manager name in bytes.
const maxManagerName = 128

// ManagerName returns the name of a request's field manager: the query parameter fieldManager or,
// if it is empty, the start of the User-Agent. The result is never empty, because the fields of
// every client are managed.
func ManagerName(fieldManager, userAgent string) string {
	if fieldManager != "" {
		return fieldManager
	}
	agent, _, _ := strings.Cut(userAgent, "/")
	var b strings.Builder
	for _, r := range agent {
		if !unicode.IsPrint(r) {
			continue
		}
		if b.Len()+utf8.RuneLen(r) > maxManagerName {
			break
		}
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		return unknownManager
	}
	return b.String()
}
