package controllers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// The ConfigMap that says since when the use of tokens in Secrets is recorded:
// a token without a record was not used since that day.
const (
	tokenTracking      = "kube-apiserver-legacy-service-account-token-tracking"
	tokenTrackingSince = "since"
)

// TokenTracking returns the ConfigMap as it is made first.
func TokenTracking(now time.Time) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: tokenTracking},
		Data:       map[string]string{tokenTrackingSince: now.UTC().Format(time.DateOnly)},
	}
}

// KeepTokenTracking makes the ConfigMap again when it is deleted, and mends it
// when it has no day or one to come, until ctx is done.
func KeepTokenTracking(ctx context.Context, c Config) {
	c = c.complete()
	res, version, ok := c.Catalogue.Lookup(corev1.SchemeGroupVersion, "configmaps")
	if !ok {
		return
	}
	k := &trackingKeeper{Config: c, target: registry.Target{
		Resource: res, Version: version, Namespace: metav1.NamespaceSystem, Name: tokenTracking,
	}}
	l := loop[string]{
		Config: c, name: "legacy-token-tracking", sync: k.sync,
		sources: []source[string]{{resource: res, namespace: metav1.NamespaceSystem, fields: named(tokenTracking), keys: nameOf}},
		also:    func(_ context.Context, queue workqueue.TypedInterface[string]) { queue.Add(tokenTracking) },
	}
	l.Run(ctx)
}

type trackingKeeper struct {
	Config
	target registry.Target
}

func (k *trackingKeeper) sync(ctx context.Context, _ string) (verdict, error) {
	is, err := get[*corev1.ConfigMap](ctx, k.Config, k.target.Resource, k.target.Namespace, k.target.Name)
	if err != nil {
		return soon, err
	}
	want := TokenTracking(k.Now())
	if is == nil {
		_, err := k.Registry.Create(asServer(ctx), k.target, want, registry.WriteOptions{Manager: serverName})
		return done, ignoreNoRoom(err)
	}
	if since, err := time.Parse(time.DateOnly, is.Data[tokenTrackingSince]); err == nil && !since.After(k.Now()) {
		return done, nil
	}
	_, err = k.Registry.Update(asServer(ctx), k.target, func(_ context.Context, old api.Object) (api.Object, error) {
		now := old.(*corev1.ConfigMap)
		now.ResourceVersion, now.Data = is.ResourceVersion, want.Data
		return now, nil
	}, registry.UpdateOptions{WriteOptions: registry.WriteOptions{Manager: serverName}})
	return done, ignoreGone(err)
}
