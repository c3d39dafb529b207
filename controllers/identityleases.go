package controllers

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// identityLabel marks the Leases of running API servers.
const identityLabel = "apiserver.kubernetes.io/identity"

// DeleteExpiredIdentityLeases deletes the Leases of API servers that no longer
// renew them, until ctx is done.
func DeleteExpiredIdentityLeases(ctx context.Context, c Config) {
	c = c.complete()
	res, version, ok := c.Catalogue.Lookup(coordinationv1.SchemeGroupVersion, "leases")
	if !ok {
		return
	}
	cleaner := &leaseCleaner{Config: c, target: registry.Target{Resource: res, Version: version, Namespace: metav1.NamespaceSystem}}
	l := loop[string]{Config: c, name: "apiserver-identity-leases", sync: cleaner.sync, sources: []source[string]{{
		resource: res, namespace: metav1.NamespaceSystem, keys: func(ch objectChange) []string {
			if !isIdentityLease(ch.object) {
				return nil
			}
			return nameKey(ch)
		},
	}}}
	l.Run(ctx)
}

func isIdentityLease(obj api.Object) bool { return obj.GetLabels()[identityLabel] == serverManager }

type leaseCleaner struct {
	Config
	target registry.Target
}

// sync deletes an expired Lease, or syncs again when it expires.
func (l *leaseCleaner) sync(ctx context.Context, name string) (syncResult, error) {
	lease, err := getObject[*coordinationv1.Lease](ctx, l.Config, l.target.Resource, l.target.Namespace, name)
	if err != nil || lease == nil || !isIdentityLease(lease) {
		return resultDone, err
	}
	if left := leaseRemaining(lease, l.Now()); left > 0 {
		return syncResult(left), nil
	}
	t := l.target
	t.Name = name
	preconditions := &metav1.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion}
	_, err = l.Registry.Delete(asServer(ctx), t, registry.DeleteOptions{Preconditions: preconditions})
	return resultDone, ignoreDeleted(err)
}

// leaseRemaining returns the remaining duration of a Lease.
func leaseRemaining(l *coordinationv1.Lease, now time.Time) time.Duration {
	if l.Spec.RenewTime == nil || l.Spec.LeaseDurationSeconds == nil {
		return 0
	}
	return l.Spec.RenewTime.Add(time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second).Sub(now)
}
