package server

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// systemNamespaces are there from the start, for others to put things into.
func systemNamespaces() []string {
	return []string{
		metav1.NamespaceDefault, metav1.NamespaceSystem,
		metav1.NamespacePublic, corev1.NamespaceNodeLease,
	}
}

// bootstrap makes the objects that clients take for granted, where they are
// missing.
func bootstrap(ctx context.Context, catalogue *api.Catalogue, reg *registry.Registry, p published) error {
	ctx = request.With(ctx, &request.Scope{User: &request.User{
		Name:   request.UserAPIServer,
		Groups: []string{request.GroupMasters},
	}})
	for _, name := range systemNamespaces() {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := ensure(ctx, catalogue, reg, corev1.SchemeGroupVersion, "namespaces", namespace); err != nil {
			return err
		}
	}
	for _, class := range api.SystemPriorityClasses() {
		if err := ensure(ctx, catalogue, reg, schedulingv1.SchemeGroupVersion, "priorityclasses", class); err != nil {
			return err
		}
	}
	p.catalogue, p.registry = catalogue, reg
	return p.publish(ctx)
}

// ensure makes an object where it is missing.
func ensure(ctx context.Context, catalogue *api.Catalogue, reg *registry.Registry, gv schema.GroupVersion, resource string, obj api.Object) error {
	res, version, ok := find(catalogue, gv, resource)
	if !ok {
		return fmt.Errorf("the catalogue has no %s", resource)
	}
	target := registry.Target{Resource: res, Version: version, Name: obj.GetName()}
	// Looked for in the cache first: a second start writes nothing.
	if _, err := reg.Get(ctx, target, storage.Read{Match: storage.Any}); err == nil {
		return nil
	}
	if _, err := reg.Create(ctx, target, obj, registry.WriteOptions{Manager: ownManager}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("%s %s: %w", resource, obj.GetName(), err)
	}
	return nil
}
