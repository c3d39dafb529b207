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
	t := &tokenCleaner{Config: c, client: newClient(c.Handler, "token-cleaner"), secrets: c.served(corev1.SchemeGroupVersion, "secrets")}
	if t.secrets == nil {
		return nil
	}
	return &loop[string]{Config: c, name: tokenCleanerName, sync: t.sync, sources: []source[string]{bootstrapTokens(t.secrets, nameKey)}}
}

func (t *tokenCleaner) sync(ctx context.Context, name string) (syncResult, error) {
	secret, err := getObject[*corev1.Secret](ctx, t.Config, t.secrets, metav1.NamespaceSystem, name)
	if err != nil || secret == nil || secret.Type != bootstrapType {
		return resultDone, err
	}
	left, limited := tokenLifetime(secret, t.Now())
	if !limited || left > 0 {
		return syncResult(max(left, 0)), nil
	}
	err = t.client.do(ctx, http.MethodDelete, objectPath(t.secrets, metav1.NamespaceSystem, name), "application/json",
		&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &secret.UID}}, nil)
	return resultDone, ignoreDeleted(err)
}
