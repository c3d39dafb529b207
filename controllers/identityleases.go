package controllers

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// identityLabel marks the Lease by which an API server says that it runs.
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
		resource: res, namespace: metav1.NamespaceSystem, keys: func(ch change) []string {
			if !isIdentityLease(ch.object) {
				return nil
			}
			return nameOf(ch)
		},
	}}}
	l.Run(ctx)
}

func isIdentityLease(obj api.Object) bool { return obj.GetLabels()[identityLabel] == serverName }

type leaseCleaner struct {
	Config
	target registry.Target
}

// sync deletes a Lease at its end, and looks again when that has not come yet.
func (l *leaseCleaner) sync(ctx context.Context, name string) (verdict, error) {
	lease, err := get[*coordinationv1.Lease](ctx, l.Config, l.target.Resource, l.target.Namespace, name)
	if err != nil || lease == nil || !isIdentityLease(lease) {
		return done, err
	}
	if left := leaseTime(lease, l.Now()); left > 0 {
		return verdict(left), nil
	}
	t := l.target
	t.Name = name
	preconditions := &metav1.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion}
	_, err = l.Registry.Delete(asServer(ctx), t, registry.DeleteOptions{Preconditions: preconditions})
	return done, ignoreGone(err)
}

// leaseTime returns how long a Lease still lasts.
func leaseTime(l *coordinationv1.Lease, now time.Time) time.Duration {
	if l.Spec.RenewTime == nil || l.Spec.LeaseDurationSeconds == nil {
		return 0
	}
	return l.Spec.RenewTime.Add(time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second).Sub(now)
}
