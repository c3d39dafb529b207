package elections

import (
	"context"
	"errors"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/registry"
)

// leadershipLease is the name of the Lease in kube-system whose holder runs the elections.
const leadershipLease = "leader-election-controller"

// releaseTime bounds the write that gives the Lease up at the end.
const releaseTime = time.Second

// leadership decides which server runs the elections.
type leadership struct {
	Config
	target registry.Target
}

func newLeadership(c Config, leases *api.Resource) *leadership {
	return &leadership{Config: c, target: registry.Target{
		Resource: leases, Version: &leases.Versions[0], Namespace: metav1.NamespaceSystem, Name: leadershipLease}}
}

// run calls work whenever this server holds the Lease, until ctx is done, and then gives the Lease
// up. The context of work ends when the Lease may be lost.
func (l *leadership) run(ctx context.Context, work func(context.Context)) {
	for ctx.Err() == nil {
		if l.renew(ctx) == nil {
			l.hold(ctx, work)
		}
		l.wait(ctx)
	}
}

// hold calls work and renews the Lease, until it cannot be renewed in time.
func (l *leadership) hold(ctx context.Context, work func(context.Context)) {
	working, end := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { recovery.RestartOnPanic(working, l.Logger, leadershipLease, func() { work(working) }) })
	defer wg.Wait()
	defer end()
	for renewed := time.Now(); time.Since(renewed) < l.RenewDeadline; { // in real time: a move of the clock ends wait
		if l.wait(ctx); ctx.Err() != nil {
			l.release(ctx)
			return
		}
		err := l.renew(ctx)
		switch {
		case err == nil:
			renewed = time.Now()
		case errors.Is(err, errHeld):
			return
		}
	}
}

// wait waits for the next attempt, which a move of the clock brings about at once.
func (l *leadership) wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-l.Clock.Changed():
	case <-time.After(l.RetryPeriod):
	}
}

// errHeld means that another server holds the Lease.
var errHeld = errors.New("another server runs the elections")

// renew takes or renews the Lease, unless another server holds it.
func (l *leadership) renew(ctx context.Context) error {
	ctx = reconcile.AsServer(ctx)
	lease, err := reconcile.GetObject[*coordinationv1.Lease](ctx, l.BaseConfig, l.target.Resource, l.target.Namespace, l.target.Name)
	if err != nil {
		return err
	}
	if lease == nil {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: l.target.Namespace, Name: l.target.Name}}
		lease.Spec.LeaseTransitions = new(int32(0))
		l.take(&lease.Spec)
		_, err := l.Registry.Create(ctx, l.target, lease, asServer().WriteOptions)
		return err
	}
	_, err = l.Registry.Update(ctx, l.target, func(_ context.Context, old api.Object) (api.Object, error) {
		lease := old.(*coordinationv1.Lease)
		if held := holderOf(lease); held != "" && held != l.ServerID && !isExpired(lease, l.Now()) {
			return nil, errHeld
		}
		l.take(&lease.Spec)
		return lease, nil
	}, asServer())
	return err
}

// take makes this server the holder.
func (l *leadership) take(s *coordinationv1.LeaseSpec) {
	now := &metav1.MicroTime{Time: l.Now()}
	if s.HolderIdentity == nil || *s.HolderIdentity != l.ServerID {
		if s.HolderIdentity != nil {
			s.LeaseTransitions = new(transitions(s) + 1)
		}
		s.HolderIdentity, s.AcquireTime = &l.ServerID, now
	}
	s.RenewTime, s.LeaseDurationSeconds = now, new(int32(l.LeaseDuration.Seconds()))
}

func transitions(s *coordinationv1.LeaseSpec) int32 {
	if s.LeaseTransitions == nil {
		return 0
	}
	return *s.LeaseTransitions
}

// release gives the Lease up, so that another server need not wait until it expires. If that
// fails it expires.
func (l *leadership) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	_, err := l.Registry.Update(reconcile.AsServer(ctx), l.target, func(_ context.Context, old api.Object) (api.Object, error) {
		lease := old.(*coordinationv1.Lease)
		if holderOf(lease) != l.ServerID {
			return nil, errHeld
		}
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = new(""), new(int32(1))
		return lease, nil
	}, asServer())
	if err != nil {
		l.Logger.Debug("the lease of the elections was not given up", "err", err)
	}
}
