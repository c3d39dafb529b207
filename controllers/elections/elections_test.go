package elections

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
	"github.com/miniapiserver/miniapiserver/internal/registrytest"
	"github.com/miniapiserver/miniapiserver/kinds"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// newConfig returns the configuration of a server on an empty store.
func newConfig(t *testing.T) Config {
	t.Helper()
	gates, err := features.New(map[string]bool{features.CoordinatedLeaderElection: true})
	if err != nil {
		t.Fatal(err)
	}
	resources, err := api.Enable(kinds.For(gates), api.VersionOptions{
		Config: map[string]string{"coordination.k8s.io/v1beta1": "true"}, Gates: gates, Release: kubeversion.Emulating(kubeversion.Binary())})
	if err != nil {
		t.Fatal(err)
	}
	catalogue := registrytest.Catalogue(t, resources...)
	reg := registrytest.New(t, catalogue, registry.Options{})
	c := Config{BaseConfig: reconcile.BaseConfig{Registry: reg, Catalogue: catalogue, Logger: slog.New(slog.DiscardHandler)}, ServerID: "one",
		LeaseDuration: time.Minute, RenewDeadline: 30 * time.Second, RetryPeriod: 10 * time.Millisecond}
	c.BaseConfig = c.Complete()
	return c
}

// electorOf returns the elector of a server.
func electorOf(t *testing.T, c Config) *elector {
	t.Helper()
	e := &elector{BaseConfig: c.BaseConfig, leases: c.Served(coordinationv1.SchemeGroupVersion, "leases"), candidates: c.Served(coordinationv1beta1.SchemeGroupVersion, "leasecandidates")}
	if e.leases == nil || e.candidates == nil {
		t.Fatal("candidates are not served")
	}
	return e
}

// background runs f until the end of the test.
func background(t *testing.T, f func(context.Context)) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { f(ctx) })
	end = func() {
		cancel()
		wg.Wait()
	}
	t.Cleanup(end)
	return end
}

// eventually waits until a Lease has what a test expects.
func eventually(t *testing.T, e *elector, namespace, name, what string, ok func(*coordinationv1.Lease) bool) {
	t.Helper()
	for {
		lease, err := reconcile.GetObject[*coordinationv1.Lease](t.Context(), e.BaseConfig, e.leases, namespace, name)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if lease != nil && ok(lease) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (e *elector) announce(t *testing.T, c *coordinationv1beta1.LeaseCandidate) {
	t.Helper()
	if _, err := e.Registry.Create(t.Context(), e.target(e.candidates, types.NamespacedName{Namespace: c.Namespace}), c, registry.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// answerPings renews the candidates that are pinged, until ctx is done.
func (e *elector) answerPings(ctx context.Context, t *testing.T) {
	for ctx.Err() == nil {
		candidates, err := e.candidatesFor(ctx, types.NamespacedName{Namespace: "ns", Name: "lock"})
		if err != nil && ctx.Err() == nil {
			t.Error(err)
			return
		}
		for _, c := range candidates {
			if answered(c) {
				continue
			}
			_, err := e.Registry.Update(ctx, e.target(e.candidates, types.NamespacedName{Namespace: c.Namespace, Name: c.Name}), func(_ context.Context, old api.Object) (api.Object, error) {
				old.(*coordinationv1beta1.LeaseCandidate).Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
				return old, nil
			}, registry.UpdateOptions{})
			if err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// TestElections checks that candidates are elected, preferred, pinged and removed.
func TestElections(t *testing.T) {
	c := newConfig(t)
	e := electorOf(t, c)
	background(t, func(ctx context.Context) { Run(ctx, c) })
	now := func() *metav1.MicroTime { return &metav1.MicroTime{Time: time.Now()} }

	background(t, func(ctx context.Context) { e.answerPings(ctx, t) })

	first := candidate("first", "1.37.0", "1.37.0", 0)
	first.Spec.RenewTime = now()
	e.announce(t, first)
	eventually(t, e, "ns", "lock", "the only candidate", func(l *coordinationv1.Lease) bool { return holderOf(l) == "first" })

	// A candidate that was silent is pinged, and preferred when it has answered.
	older := candidate("older", "1.36.0", "1.37.0", 0)
	older.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(-time.Minute)}
	e.announce(t, older)
	eventually(t, e, "ns", "lock", "the older one", func(l *coordinationv1.Lease) bool {
		return holderOf(l) == "older" || l.Spec.PreferredHolder != nil && *l.Spec.PreferredHolder == "older"
	})

	gone := candidate("gone", "1.0.0", "1.37.0", 0)
	gone.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(-time.Hour)}
	e.announce(t, gone)
	for {
		_, err := e.Registry.Get(t.Context(), e.target(e.candidates, types.NamespacedName{Namespace: "ns", Name: "gone"}), storage.Read{})
		if apierrors.IsNotFound(err) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestForeignStrategy checks that a strategy of somebody else gets a Lease without a holder.
func TestForeignStrategy(t *testing.T) {
	c := newConfig(t)
	e := electorOf(t, c)
	background(t, func(ctx context.Context) { Run(ctx, c) })
	own := candidate("own", "1.37.0", "1.37.0", 0)
	own.Spec.Strategy, own.Spec.RenewTime = "example.com/own", &metav1.MicroTime{Time: time.Now()}
	e.announce(t, own)
	eventually(t, e, "ns", "lock", "a lease", func(l *coordinationv1.Lease) bool {
		if holder := holderOf(l); holder != "" {
			t.Fatalf("the holder is %s", holder)
		}
		return l.Spec.Strategy != nil && *l.Spec.Strategy == "example.com/own"
	})
}

// TestLeadership checks that one of two servers runs the elections, and that the other takes over
// when it ends.
func TestLeadership(t *testing.T) {
	c := newConfig(t)
	e := electorOf(t, c)
	type call struct {
		server  string
		running bool
	}
	calls := make(chan call, 10)
	lead := func(server string) (end func()) {
		own := c
		own.ServerID = server
		return background(t, func(ctx context.Context) {
			newLeadership(own, e.leases).run(ctx, func(ctx context.Context) {
				calls <- call{server, true}
				<-ctx.Done()
				calls <- call{server, false}
			})
		})
	}
	endOne := lead("one")
	if got := <-calls; got != (call{"one", true}) {
		t.Fatalf("got %+v", got)
	}
	lead("two")
	endOne()
	for _, want := range []call{{"one", false}, {"two", true}} {
		if got := <-calls; got != want {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	}
	eventually(t, e, metav1.NamespaceSystem, leadershipLease, "the second server", func(l *coordinationv1.Lease) bool {
		return holderOf(l) == "two" && transitions(&l.Spec) > 0
	})
}
