package controllers

import (
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
)

const tokenCleanerName = "token-cleaner-controller"

// tokenCleaner deletes expired bootstrap tokens.
type tokenCleaner struct {
	Config
	client  *Client
	secrets *api.Resource
}

func newTokenCleaner(c Config) Controller {
	t := &tokenCleaner{Config: c, client: NewClient(c.Handler, "token-cleaner"), secrets: c.Served(corev1.SchemeGroupVersion, "secrets")}
	if t.secrets == nil {
		return nil
	}
	return &Loop[string]{BaseConfig: c.BaseConfig, Name: tokenCleanerName, Sync: t.sync, Sources: []Source[string]{bootstrapTokens(t.secrets, NameKey)}}
}

func (t *tokenCleaner) sync(ctx context.Context, name string) (Result, error) {
	secret, err := GetObject[*corev1.Secret](ctx, t.BaseConfig, t.secrets, metav1.NamespaceSystem, name)
	if err != nil || secret == nil || secret.Type != bootstrapType {
		return Done, err
	}
	left, limited := tokenLifetime(secret, t.Now())
	if !limited || left > 0 {
		return Result(max(left, 0)), nil
	}
	err = t.client.Do(ctx, http.MethodDelete, ObjectPath(t.secrets, metav1.NamespaceSystem, name), "application/json",
		&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &secret.UID}}, nil)
	return Done, IgnoreDeleted(err)
}
