package registry

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/kinds"
	"github.com/miniapiserver/miniapiserver/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is the time of the clock in these tests.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// newRegistry returns a registry of all kinds with a store of its own.
func newRegistry(t testing.TB) *Registry {
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
	r, err := New(store, catalogue, Options{Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// at returns a Target for an object in the namespace "ns", or for a cluster-scoped object.
func (r *Registry) at(t testing.TB, gv schema.GroupVersion, resource, name string) Target {
	t.Helper()
	res, v, ok := r.catalogue.Lookup(gv, resource)
	if !ok {
		t.Fatalf("%s is not served", resource)
	}
	target := Target{Resource: res, Version: v, Name: name}
	if res.Namespaced {
		target.Namespace = "ns"
	}
	return target
}

func (r *Registry) configMap(t testing.TB, name string) Target {
	return r.at(t, corev1.SchemeGroupVersion, "configmaps", name)
}

func configMap(name, value string, finalizers ...string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers},
		Data:       map[string]string{"key": value},
	}
}

// create stores obj and returns the result.
func create(t testing.TB, r *Registry, at Target, obj api.Object) api.Object {
	t.Helper()
	out, err := r.Create(t.Context(), at, obj, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return out.Object
}

// stored returns the stored object, or nil.
func stored(t testing.TB, r *Registry, at Target) api.Object {
	t.Helper()
	item, err := r.Get(t.Context(), at, storage.Read{})
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

// replaceBy returns the Change of a PUT of obj.
func replaceBy(obj api.Object) Change {
	return func(context.Context, api.Object) (api.Object, error) { return obj.DeepCopyObject().(api.Object), nil }
}

// changeBy returns the Change of a patch.
func changeBy[T api.Object](change func(T)) Change {
	return func(_ context.Context, old api.Object) (api.Object, error) {
		change(old.(T))
		return old, nil
	}
}
