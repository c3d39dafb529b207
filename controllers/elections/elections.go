// Package elections elects the leaders of components that take part in coordinated leader
// election (KEP-4355): the controller that kube-apiserver runs with the feature gate
// CoordinatedLeaderElection.
//
// A component announces itself with a LeaseCandidate and waits until it is the holder of the
// Lease that the candidate names. The Lease goes to the candidate that emulates the oldest
// version, so that the components of a cluster that is being upgraded keep what all of them
// understand. Of several API servers on one etcd, one runs the elections.
//
//   - elections.go: the controller, with the removal of candidates that are gone.
//   - choice.go: which candidate is the best.
//   - leadership.go: which API server runs the elections.
package elections

import (
	"context"
	"errors"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/registry"
)

const (
	// recheck is the time after which an election is considered again, in which a holder may stop
	// to renew its Lease.
	recheck = 5 * time.Second
	// answerTime is the time that a candidate has to answer a ping by renewing itself.
	answerTime = 5 * time.Second
	// leaseSeconds is the duration of a Lease that an elected holder has not renewed yet.
	leaseSeconds int32 = 5
	// candidateLife is the time after its last renewal in which a candidate is valid. Candidates
	// are pinged after half of it.
	candidateLife = 30 * time.Minute
)

// Config configures the elections. All fields are required.
type Config struct {
	reconcile.BaseConfig
	// ServerID is the unique name by which this server holds the Lease of the server that runs the
	// elections.
	ServerID string
	// LeaseDuration is the time after which another server takes that Lease, RenewDeadline the
	// time without a renewal after which its holder stops, and RetryPeriod the time between two
	// attempts to take or renew it.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// Run runs the elections, in the times in which this server is the one to do so, until ctx is done.
// It returns at once if candidates are not served.
func Run(ctx context.Context, c Config) {
	c.BaseConfig = c.Complete()
	e := &elector{
		BaseConfig: c.BaseConfig,
		leases:     c.Served(coordinationv1.SchemeGroupVersion, "leases"),
		candidates: c.Served(coordinationv1beta1.SchemeGroupVersion, "leasecandidates"),
	}
	if e.leases == nil || e.candidates == nil {
		return
	}
	newLeadership(c, e.leases).run(ctx, e.run)
}

// elector decides who holds the Leases for which there are candidates.
type elector struct {
	reconcile.BaseConfig
	leases, candidates *api.Resource
}

func (e *elector) run(ctx context.Context) {
	removal := reconcile.Loop[types.NamespacedName]{BaseConfig: e.BaseConfig, Name: "leasecandidate-removal", Sync: e.removeExpired,
		Sources: []reconcile.Source[types.NamespacedName]{{Resource: e.candidates, Keys: nameOf}}}
	elections := reconcile.Loop[types.NamespacedName]{BaseConfig: e.BaseConfig, Name: leadershipLease, Sync: e.sync,
		Sources: []reconcile.Source[types.NamespacedName]{{Resource: e.leases, Keys: nameOf}, {Resource: e.candidates, Keys: leaseOf}}}
	var wg sync.WaitGroup
	wg.Go(func() { recovery.RestartOnPanic(ctx, e.Logger, removal.Name, func() { removal.Run(ctx) }) })
	elections.Run(ctx)
	wg.Wait()
}

func nameOf(ch reconcile.Change) []types.NamespacedName {
	return []types.NamespacedName{{Namespace: ch.Object.GetNamespace(), Name: ch.Object.GetName()}}
}

// leaseOf returns the Lease of a candidate. A candidate that was pinged and has not answered yet
// starts no election, because one goes on.
func leaseOf(ch reconcile.Change) []types.NamespacedName {
	c, ok := ch.Object.(*coordinationv1beta1.LeaseCandidate)
	if !ok || !answered(c) {
		return nil
	}
	return []types.NamespacedName{{Namespace: c.Namespace, Name: c.Spec.LeaseName}}
}

// removeExpired deletes a candidate that has not renewed itself for long, or syncs again when it
// expires.
func (e *elector) removeExpired(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	c, err := reconcile.GetObject[*coordinationv1beta1.LeaseCandidate](ctx, e.BaseConfig, e.candidates, key.Namespace, key.Name)
	if err != nil || c == nil {
		return reconcile.Done, err
	}
	if left := expiry(c).Sub(e.Now()); left > 0 {
		return reconcile.Result(left), nil
	}
	_, err = e.Registry.Delete(reconcile.AsServer(ctx), e.target(e.candidates, key),
		registry.DeleteOptions{Preconditions: reconcile.Unchanged(c)})
	return reconcile.AfterWrite(err)
}

// sync holds one step of the election for a Lease: it pings candidates, or waits for their answers,
// or writes the result into the Lease.
func (e *elector) sync(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	candidates, err := e.candidatesFor(ctx, key)
	if err != nil || len(candidates) == 0 {
		return reconcile.Done, err
	}
	lease, err := reconcile.GetObject[*coordinationv1.Lease](ctx, e.BaseConfig, e.leases, key.Namespace, key.Name)
	if err != nil {
		return reconcile.Done, err
	}
	now := e.Now()
	if needed, err := isElectionNeeded(lease, candidates, now); err != nil || !needed {
		return reconcile.Poll(recheck), err
	}
	waits := false
	for _, c := range candidates {
		switch {
		case isFresh(c, now):
		case isAwaited(c, now):
			waits = true
		case answered(c):
			if err := e.ping(ctx, c, now); err != nil {
				return reconcile.Done, err
			}
			waits = true
		}
	}
	if waits {
		return reconcile.Poll(recheck), nil
	}
	var present []*coordinationv1beta1.LeaseCandidate
	for _, c := range candidates {
		if isFresh(c, now) {
			present = append(present, c)
		}
	}
	if len(present) == 0 {
		return reconcile.Done, errors.New("no candidate answers")
	}
	strategy, err := strategyOf(present)
	if err != nil {
		return reconcile.Done, err
	}
	holder := ""
	if strategy == coordinationv1.OldestEmulationVersion {
		holder = oldest(present).Name
	}
	return reconcile.Poll(recheck), e.decide(ctx, key, strategy, holder)
}

// candidatesFor returns the valid candidates for a Lease.
func (e *elector) candidatesFor(ctx context.Context, key types.NamespacedName) ([]*coordinationv1beta1.LeaseCandidate, error) {
	items, err := e.Items(ctx, e.candidates, key.Namespace, registry.Selection{})
	if err != nil {
		return nil, err
	}
	var list []*coordinationv1beta1.LeaseCandidate
	for _, item := range items {
		obj, err := item.Object()
		if err != nil {
			continue // the store has logged it
		}
		if c := obj.(*coordinationv1beta1.LeaseCandidate); c.Spec.LeaseName == key.Name && expiry(c).After(e.Now()) {
			list = append(list, c)
		}
	}
	return list, nil
}

// ping asks a candidate to renew itself.
func (e *elector) ping(ctx context.Context, c *coordinationv1beta1.LeaseCandidate, now time.Time) error {
	key := types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
	_, err := e.Registry.Update(reconcile.AsServer(ctx), e.target(e.candidates, key), func(_ context.Context, old api.Object) (api.Object, error) {
		pinged := old.(*coordinationv1beta1.LeaseCandidate)
		pinged.Spec.PingTime = &metav1.MicroTime{Time: now}
		return pinged, nil
	}, asServer())
	return reconcile.IgnoreDeleted(err)
}

// decide writes the result of an election into the Lease. A holder that still renews its Lease is
// told to give it up to the preferred one. A strategy of somebody else comes without a holder.
func (e *elector) decide(ctx context.Context, key types.NamespacedName,
	strategy coordinationv1.CoordinatedLeaseStrategy, holder string) error {
	t, now := e.target(e.leases, key), e.Now()
	lease, err := reconcile.GetObject[*coordinationv1.Lease](ctx, e.BaseConfig, e.leases, key.Namespace, key.Name)
	if err != nil {
		return err
	}
	if lease == nil {
		elected := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		elected.Spec.Strategy = &strategy
		give(&elected.Spec, holder, now)
		_, err := e.Registry.Create(reconcile.AsServer(ctx), t, elected, asServer().WriteOptions)
		return reconcile.IgnoreNotCreatable(err)
	}
	_, err = e.Registry.Update(reconcile.AsServer(ctx), t, func(_ context.Context, old api.Object) (api.Object, error) {
		changed := old.(*coordinationv1.Lease)
		s := &changed.Spec
		s.Strategy = &strategy
		switch held := holderOf(changed); {
		case holder == "" || held == holder && !isExpired(changed, now):
		case held == "" || isExpired(changed, now) && held != holder:
			s.PreferredHolder, s.AcquireTime = nil, nil
			give(s, holder, now)
		case held != holder:
			s.PreferredHolder = &holder
		}
		return changed, nil
	}, asServer())
	return reconcile.IgnoreDeleted(err)
}

// give makes somebody the holder of a Lease, until the holder renews it itself.
func give(s *coordinationv1.LeaseSpec, holder string, now time.Time) {
	if holder != "" {
		s.HolderIdentity = &holder
	}
	s.RenewTime, s.LeaseDurationSeconds = &metav1.MicroTime{Time: now}, new(leaseSeconds)
}

func (e *elector) target(res *api.Resource, key types.NamespacedName) registry.Target {
	return registry.Target{Resource: res, Version: &res.Versions[0], Namespace: key.Namespace, Name: key.Name}
}

func asServer() registry.UpdateOptions {
	return registry.UpdateOptions{WriteOptions: registry.WriteOptions{Manager: reconcile.ServerManager}}
}
