package registry

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/kinds"
	"github.com/miniapiserver/miniapiserver/storage"
)

// guarding is an Admission that guards creations of ConfigMaps by their namespace, and calls
// meanwhile after it has looked at the namespace.
type guarding struct {
	r         *Registry
	scope     Target
	meanwhile func()
}

// Mutate implements Admission.
func (g *guarding) Mutate(ctx context.Context, a *Attributes) error {
	if a.Verb != api.VerbCreate || a.Resource.Kind != "ConfigMap" {
		return nil
	}
	obj, err := g.r.object(ctx, g.scope)
	if err != nil {
		return err
	}
	a.SetGuard(Guard{Scope: g.scope, UID: obj.GetUID(), Check: g.check})
	return g.check(a, obj)
}

func (g *guarding) check(_ *Attributes, scope api.Object) error {
	if scope.GetDeletionTimestamp() != nil {
		return errors.New("the scope is terminating")
	}
	return nil
}

// Validate implements Admission.
func (g *guarding) Validate(_ context.Context, a *Attributes) error {
	if a.Verb == api.VerbCreate && a.Resource.Kind == "ConfigMap" && g.meanwhile != nil {
		meanwhile := g.meanwhile
		g.meanwhile = nil
		meanwhile()
	}
	return nil
}

// newGuarded returns a registry with guarding. If apart is true, the ConfigMaps are in another etcd.
func newGuarded(t *testing.T, apart bool) (*Registry, *guarding) {
	t.Helper()
	catalogue, err := api.New(kinds.All()...)
	if err != nil {
		t.Fatal(err)
	}
	g := &guarding{}
	o := Options{Admission: func() Admission { return g }}
	stores := make([]*storage.Store, 2)
	for i := range stores {
		if stores[i], err = storage.Open(t.Context(), storage.Options{Ephemeral: true}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stores[i].Close() })
	}
	if apart {
		o.Stores = map[schema.GroupResource]*storage.Store{corev1.Resource("configmaps"): stores[1]}
	}
	if g.r, err = New(stores[0], catalogue, o); err != nil {
		t.Fatal(err)
	}
	for _, s := range stores {
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	g.scope = g.r.at(t, corev1.SchemeGroupVersion, "namespaces", "ns")
	create(t, g.r, g.scope, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}})
	return g.r, g
}

// finalize removes the finalizers of the namespace, as often as it is refused, and returns how often
// it was.
func (g *guarding) finalize(t *testing.T) (refused int) {
	t.Helper()
	for ; ; refused++ {
		_, err := g.r.Update(t.Context(), g.scope, changeBy(func(ns *corev1.Namespace) { ns.Spec.Finalizers = nil }), UpdateOptions{SkipStrategy: true})
		if err == nil {
			return refused
		}
		if !apierrors.IsForbidden(err) || refused > 3 {
			t.Fatal(err)
		}
	}
}

// TestGuardedCreation changes the scope of a creation after admission has looked at it.
func TestGuardedCreation(t *testing.T) {
	for _, apart := range []bool{false, true} {
		for name, tt := range map[string]struct {
			meanwhile func(t *testing.T, g *guarding)
			want      string
		}{
			"unchanged": {func(*testing.T, *guarding) {}, ""},
			"changed": {func(t *testing.T, g *guarding) {
				if _, err := g.r.Update(t.Context(), g.scope, changeBy(func(ns *corev1.Namespace) { ns.Labels = map[string]string{"a": "b"} }), UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			}, ""},
			"gone": {func(t *testing.T, g *guarding) { g.end(t) }, `namespaces "ns" not found`},
			"replaced": {func(t *testing.T, g *guarding) {
				g.end(t)
				create(t, g.r, g.scope, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}})
			}, `namespaces "ns" not found`},
		} {
			t.Run(fmt.Sprintf("%s, apart %t", name, apart), func(t *testing.T) {
				r, g := newGuarded(t, apart)
				g.meanwhile = func() { tt.meanwhile(t, g) }
				got := ""
				if _, err := r.Create(t.Context(), r.configMap(t, ""), configMap("late", ""), WriteOptions{}); err != nil {
					got = err.Error()
				}
				if got != tt.want {
					t.Errorf("the answer is %q, want %q", got, tt.want)
				}
				if obj := stored(t, r, r.configMap(t, "late")); (obj == nil) != (tt.want != "") {
					t.Errorf("the object is %v", obj)
				}
			})
		}
	}
}

// end deletes the namespace.
func (g *guarding) end(t *testing.T) {
	t.Helper()
	if _, err := g.r.Delete(t.Context(), g.scope, DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	g.finalize(t)
}

// TestTerminatingScope deletes the scope during a creation, but does not end it.
func TestTerminatingScope(t *testing.T) {
	r, g := newGuarded(t, false)
	g.meanwhile = func() {
		if _, err := r.Delete(t.Context(), g.scope, DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := r.Create(t.Context(), r.configMap(t, ""), configMap("late", ""), WriteOptions{})
	if err == nil || err.Error() != "the scope is terminating" {
		t.Error(err)
	}
}

// TestMissingFence checks that the removal of a finalizer from a scope is refused once if a fence
// is missing, because objects may have been created after the last look.
func TestMissingFence(t *testing.T) {
	for apart, want := range map[bool]int{false: 0, true: 1} {
		r, g := newGuarded(t, apart)
		if _, err := r.Delete(t.Context(), g.scope, DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if refused := g.finalize(t); refused != want {
			t.Errorf("objects apart: %t; finalizing was refused %d times, want %d", apart, refused, want)
		}
		if ns := stored(t, r, g.scope); ns != nil {
			t.Errorf("the namespace is there: %v", ns)
		}
	}
}
