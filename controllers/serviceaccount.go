package controllers

import (
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
)

const defaultAccountsName = "serviceaccount-controller"

// defaultAccount is the service account of pods that specify none.
const defaultAccount = "default"

// defaultAccounts creates the default service account of every namespace.
type defaultAccounts struct {
	Config
	client               *reconcile.Client
	namespaces, accounts *api.Resource
}

func newDefaultAccounts(c Config) Controller {
	a := &defaultAccounts{Config: c, client: reconcile.NewClient(c.Handler, "service-account-controller"),
		namespaces: c.Served(corev1.SchemeGroupVersion, "namespaces"),
		accounts:   c.Served(corev1.SchemeGroupVersion, "serviceaccounts")}
	if a.namespaces == nil || a.accounts == nil {
		return nil
	}
	return &reconcile.Loop[string]{BaseConfig: c.BaseConfig, Name: defaultAccountsName, Sync: a.sync, Sources: []reconcile.Source[string]{
		{Resource: a.namespaces, Keys: reconcile.NameKey},
		{Resource: a.accounts, Fields: reconcile.ByName(defaultAccount), Keys: reconcile.NamespaceKey},
	}}
}

// sync creates the default service account of a namespace.
func (a *defaultAccounts) sync(ctx context.Context, name string) (reconcile.Result, error) {
	ns, err := reconcile.GetObject[*corev1.Namespace](ctx, a.BaseConfig, a.namespaces, "", name)
	if err != nil || !isActiveNamespace(ns) {
		return reconcile.Done, err
	}
	account, err := a.Live(ctx, a.accounts, name, defaultAccount)
	if err != nil || account != nil {
		return reconcile.Done, err
	}
	err = a.client.Do(ctx, http.MethodPost, reconcile.ObjectPath(a.accounts, name, ""), "application/json",
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: defaultAccount, Namespace: name}}, nil)
	return reconcile.Done, reconcile.IgnoreNotCreatable(err)
}

// isActiveNamespace reports whether objects can be created in a namespace.
func isActiveNamespace(ns *corev1.Namespace) bool {
	return ns != nil && ns.DeletionTimestamp == nil && ns.Status.Phase != corev1.NamespaceTerminating
}
