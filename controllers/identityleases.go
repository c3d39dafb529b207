package controllers

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/registry"
)

// IdentityLabel marks the Leases of running API servers.
const IdentityLabel = "apiserver.kubernetes.io/identity"

// DeleteExpiredIdentityLeases deletes the Leases of API servers that no longer
// renew them, until ctx is done.
func DeleteExpiredIdentityLeases(ctx context.Context, c reconcile.BaseConfig) {
	c = c.Complete()
	res, version, ok := c.Catalogue.Lookup(coordinationv1.SchemeGroupVersion, "leases")
	if !ok {
		return
	}
	cleaner := &leaseCleaner{BaseConfig: c, target: registry.Target{Resource: res, Version: version, Namespace: metav1.NamespaceSystem}}
	l := reconcile.Loop[string]{BaseConfig: c, Name: "apiserver-identity-leases", Sync: cleaner.sync, Sources: []reconcile.Source[string]{{
		Resource: res, Namespace: metav1.NamespaceSystem, Keys: func(ch reconcile.Change) []string {
			if !isIdentityLease(ch.Object) {
				return nil
			}
			return reconcile.NameKey(ch)
		},
	}}}
	l.Run(ctx)
}

func isIdentityLease(obj api.Object) bool {
	return obj.GetLabels()[IdentityLabel] == reconcile.ServerManager
}

type leaseCleaner struct {
	reconcile.BaseConfig
	target registry.Target
}

// sync deletes an expired Lease, or syncs again when it expires.
func (l *leaseCleaner) sync(ctx context.Context, name string) (reconcile.Result, error) {
	lease, err := reconcile.GetObject[*coordinationv1.Lease](ctx, l.BaseConfig, l.target.Resource, l.target.Namespace, name)
	if err != nil || lease == nil || !isIdentityLease(lease) {
		return reconcile.Done, err
	}
	if left := leaseRemaining(lease, l.Now()); left > 0 {
		return reconcile.Result(left), nil
	}
	t := l.target
	t.Name = name
	_, err = l.Registry.Delete(reconcile.AsServer(ctx), t, registry.DeleteOptions{Preconditions: reconcile.Unchanged(lease)})
	return reconcile.AfterWrite(err)
}

// leaseRemaining returns the remaining duration of a Lease.
func leaseRemaining(l *coordinationv1.Lease, now time.Time) time.Duration {
	if l.Spec.RenewTime == nil || l.Spec.LeaseDurationSeconds == nil {
		return 0
	}
	return l.Spec.RenewTime.Add(time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second).Sub(now)
}
