package server

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/admission"
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
	resource, version, ok := find(catalogue, corev1.SchemeGroupVersion, "namespaces")
	if !ok {
		return fmt.Errorf("the catalogue has no namespaces")
	}
	for _, name := range systemNamespaces() {
		target := registry.Target{Resource: resource, Version: version, Name: name}
		// Looked for in the cache first: a second start writes nothing.
		if _, err := reg.Get(ctx, target, storage.Read{Match: storage.Any}); err == nil {
			continue
		}
		_, err := reg.Create(ctx, target, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, registry.WriteOptions{Manager: ownManager})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("namespace %s: %w", name, err)
		}
	}
	p.catalogue, p.registry = catalogue, reg
	return p.publish(ctx)
}

// namespaceReader reads namespaces for admission.
func namespaceReader(catalogue *api.Catalogue, reg *registry.Registry) admission.Namespaces {
	res, version, ok := find(catalogue, corev1.SchemeGroupVersion, "namespaces")
	return func(ctx context.Context, name string) (*corev1.Namespace, error) {
		if !ok {
			return nil, fmt.Errorf("the catalogue has no namespaces")
		}
		item, err := reg.Get(ctx, registry.Target{Resource: res, Version: version, Name: name}, storage.Read{})
		if err != nil {
			return nil, err
		}
		obj, err := item.Object()
		if err != nil {
			return nil, err
		}
		return obj.(*corev1.Namespace), nil
	}
}
