package controllers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
)

const tokenCleanerName = "token-cleaner-controller"

// tokenCleaner deletes expired bootstrap tokens.
type tokenCleaner struct {
	Config
	client  *reconcile.Client
	secrets *api.Resource
}

func newTokenCleaner(c Config) Controller {
	t := &tokenCleaner{Config: c, client: reconcile.NewClient(c.Handler, "token-cleaner"),
		secrets: c.Served(corev1.SchemeGroupVersion, "secrets")}
	if t.secrets == nil {
		return nil
	}
	return &reconcile.Loop[string]{BaseConfig: c.BaseConfig, Name: tokenCleanerName, Sync: t.sync,
		Sources: []reconcile.Source[string]{bootstrapTokens(t.secrets, reconcile.NameKey)}}
}

func (t *tokenCleaner) sync(ctx context.Context, name string) (reconcile.Result, error) {
	secret, err := reconcile.GetObject[*corev1.Secret](ctx, t.BaseConfig, t.secrets, metav1.NamespaceSystem, name)
	if err != nil || secret == nil || secret.Type != bootstrapType {
		return reconcile.Done, err
	}
	left, limited := tokenLifetime(secret, t.Now())
	if !limited || left > 0 {
		return reconcile.Result(max(left, 0)), nil
	}
	return reconcile.AfterWrite(t.client.DeleteUnchanged(ctx, t.secrets, secret, nil))
}
