package controllers

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/registry"
)

// SystemNamespaces returns the names of the namespaces that every cluster has.
func SystemNamespaces() []string {
	return []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease}
}

// MaintainSystemNamespaces creates deleted system namespaces again until ctx is done.
func MaintainSystemNamespaces(ctx context.Context, c reconcile.BaseConfig) {
	c = c.Complete()
	res, version, ok := c.Catalogue.Lookup(corev1.SchemeGroupVersion, "namespaces")
	if !ok {
		return
	}
	keeper := &namespaceRestorer{BaseConfig: c, target: registry.Target{Resource: res, Version: version}}
	l := reconcile.Loop[string]{BaseConfig: c, Name: "system-namespaces", Sync: keeper.sync, Sources: []reconcile.Source[string]{{
		Resource: res, Keys: func(ch reconcile.Change) []string {
			if name := ch.Object.GetName(); ch.Deleted && slices.Contains(SystemNamespaces(), name) {
				return []string{name}
			}
			return nil
		},
	}}}
	l.Run(ctx)
}

type namespaceRestorer struct {
	reconcile.BaseConfig
	target registry.Target
}

func (k *namespaceRestorer) sync(ctx context.Context, name string) (reconcile.Result, error) {
	t := k.target
	t.Name = name
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	applyDefaults(t.Resource, ns)
	_, err := k.Registry.Create(reconcile.AsServer(ctx), t, ns, registry.WriteOptions{Manager: reconcile.ServerManager})
	if apierrors.IsAlreadyExists(err) {
		return reconcile.Done, nil
	}
	return reconcile.Done, err
}

func applyDefaults(res *api.Resource, obj api.Object) {
	if res.Default != nil {
		res.Default(obj)
	}
}
