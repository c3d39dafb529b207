package controllers

import (
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
)

const accountsName = "serviceaccount-controller"

// defaultAccount is the service account of pods that name none.
const defaultAccount = "default"

// accounts sees to it that every namespace has its default service account.
type accounts struct {
	Config
	client               *Client
	namespaces, accounts *api.Resource
}

func newAccounts(c Config) Controller {
	a := &accounts{Config: c, client: newClient(c.Handler, "service-account-controller"),
		namespaces: c.served(corev1.SchemeGroupVersion, "namespaces"),
		accounts:   c.served(corev1.SchemeGroupVersion, "serviceaccounts")}
	if a.namespaces == nil || a.accounts == nil {
		return nil
	}
	return &loop[string]{Config: c, name: accountsName, sync: a.sync, sources: []source[string]{
		{resource: a.namespaces, keys: nameOf},
		{resource: a.accounts, fields: named(defaultAccount), keys: namespaceOf},
	}}
}

// sync looks at one namespace.
func (a *accounts) sync(ctx context.Context, name string) (verdict, error) {
	ns, err := get[*corev1.Namespace](ctx, a.Config, a.namespaces, "", name)
	if err != nil || !active(ns) {
		return done, err
	}
	account, err := a.live(ctx, a.accounts, name, defaultAccount)
	if err != nil || account != nil {
		return done, err
	}
	err = a.client.do(ctx, http.MethodPost, pathOf(a.accounts, name, ""), "application/json",
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: defaultAccount, Namespace: name}}, nil)
	return done, ignoreNoRoom(err)
}

// active tells whether a namespace is there to have things in it.
func active(ns *corev1.Namespace) bool {
	return ns != nil && ns.DeletionTimestamp == nil && ns.Status.Phase != corev1.NamespaceTerminating
}

// ignoreNoRoom is nil for an object that was made by somebody else, or cannot be
// made because its namespace goes.
func ignoreNoRoom(err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}
