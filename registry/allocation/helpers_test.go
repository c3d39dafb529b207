package allocation

import (
	"testing"
	"time"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is the time of the clock in these tests.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// fixture is a registry of all kinds with a store of its own, whose services have an Allocator.
type fixture struct {
	*registry.Registry
	store     *storage.Store
	allocator *Allocator
}

func newFixture(t testing.TB, pools Pools) *fixture {
	t.Helper()
	store, err := storage.Open(t.Context(), storage.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	catalogue, err := api.New(kinds.All()...)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{store: store}
	now := func() time.Time { return noon }
	f.Registry, err = registry.New(store, catalogue, registry.Options{
		Now: now,
		Allocators: func(r *registry.Registry) map[schema.GroupResource]registry.Allocator {
			f.allocator = New(r, Options{Gates: features.Default(), Pools: pools, Now: now})
			return map[schema.GroupResource]registry.Allocator{ServiceResource(): f.allocator}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f
}

// at returns a Target for an object in the namespace "ns", or for a cluster-scoped object.
func (f *fixture) at(t testing.TB, gr schema.GroupResource, name string) registry.Target {
	t.Helper()
	target, err := f.allocator.target(gr)
	if err != nil {
		t.Fatal(err)
	}
	target.Name = name
	if target.Resource.Namespaced {
		target.Namespace = "ns"
	}
	return target
}

// create stores obj and returns the result.
func create(t testing.TB, f *fixture, at registry.Target, obj api.Object) api.Object {
	t.Helper()
	out, err := f.Create(t.Context(), at, obj, registry.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return out.Object
}

// stored returns an object, or nil if it does not exist.
func stored(t testing.TB, f *fixture, at registry.Target) api.Object {
	t.Helper()
	item, err := f.Get(t.Context(), at, storage.Read{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	obj, err := item.Object()
	if err != nil {
		t.Fatal(err)
	}
	return obj
}
