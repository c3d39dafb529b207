package controllers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/registry"
)

// The ConfigMap with the date since which the use of tokens in Secrets is recorded: a token
// without a record was not used since that date.
const (
	tokenTracking      = "kube-apiserver-legacy-service-account-token-tracking"
	tokenTrackingSince = "since"
)

// NewTokenTrackingConfigMap returns the ConfigMap for its creation.
func NewTokenTrackingConfigMap(now time.Time) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: tokenTracking},
		Data:       map[string]string{tokenTrackingSince: now.UTC().Format(time.DateOnly)},
	}
}

// MaintainTokenTracking creates a deleted ConfigMap again, and repairs it if its date is invalid
// or in the future, until ctx is done.
func MaintainTokenTracking(ctx context.Context, c reconcile.BaseConfig) {
	c = c.Complete()
	res, version, ok := c.Catalogue.Lookup(corev1.SchemeGroupVersion, "configmaps")
	if !ok {
		return
	}
	k := &trackingMaintainer{BaseConfig: c, target: registry.Target{
		Resource: res, Version: version, Namespace: metav1.NamespaceSystem, Name: tokenTracking,
	}}
	l := reconcile.Loop[string]{
		BaseConfig: c, Name: "legacy-token-tracking", Sync: k.sync,
		Sources: []reconcile.Source[string]{{Resource: res, Namespace: metav1.NamespaceSystem,
			Fields: reconcile.ByName(tokenTracking), Keys: reconcile.NameKey}},
		ExtraSource: func(_ context.Context, queue reconcile.Adder[string]) { queue.Add(tokenTracking) },
	}
	l.Run(ctx)
}

type trackingMaintainer struct {
	reconcile.BaseConfig
	target registry.Target
}

func (k *trackingMaintainer) sync(ctx context.Context, _ string) (reconcile.Result, error) {
	is, err := reconcile.GetObject[*corev1.ConfigMap](ctx, k.BaseConfig, k.target.Resource, k.target.Namespace, k.target.Name)
	if err != nil {
		return reconcile.Retry, err
	}
	want := NewTokenTrackingConfigMap(k.Now())
	if is == nil {
		_, err := k.Registry.Create(reconcile.AsServer(ctx), k.target, want, registry.WriteOptions{Manager: reconcile.ServerManager})
		return reconcile.Done, reconcile.IgnoreNotCreatable(err)
	}
	if since, err := time.Parse(time.DateOnly, is.Data[tokenTrackingSince]); err == nil && !since.After(k.Now()) {
		return reconcile.Done, nil
	}
	_, err = k.Registry.Update(reconcile.AsServer(ctx), k.target, func(_ context.Context, old api.Object) (api.Object, error) {
		now := old.(*corev1.ConfigMap)
		now.ResourceVersion, now.Data = is.ResourceVersion, want.Data
		return now, nil
	}, registry.UpdateOptions{WriteOptions: registry.WriteOptions{Manager: reconcile.ServerManager}})
	return reconcile.Done, reconcile.IgnoreDeleted(err)
}
