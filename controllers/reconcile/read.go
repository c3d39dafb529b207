package reconcile

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Served returns a resource that controllers write to, or nil if it is not served.
func (c BaseConfig) Served(gv schema.GroupVersion, resource string) *api.Resource {
	res, _, ok := c.Catalogue.Lookup(gv, resource)
	if !ok {
		return nil
	}
	return res
}

// Live returns the current state of an object, or nil if it does not exist. The object is
// shared and must not be changed.
func (c BaseConfig) Live(ctx context.Context, res *api.Resource, namespace, name string) (api.Object, error) {
	item, err := c.Registry.Get(ctx, registry.Target{Resource: res, Version: &res.Versions[0], Namespace: namespace,
		Name: name}, storage.Read{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return item.Object()
}

// GetObject is Live with the Go type of the object.
func GetObject[P interface {
	*T
	api.Object
}, T any](ctx context.Context, c BaseConfig, res *api.Resource, namespace, name string) (P, error) {
	obj, err := c.Live(ctx, res, namespace, name)
	if obj == nil || err != nil {
		return nil, err
	}
	return obj.(P), nil
}

// Items returns the current items of a selection.
func (c BaseConfig) Items(ctx context.Context, res *api.Resource, namespace string, s registry.Selection) ([]*storage.Item, error) {
	list, err := c.Registry.List(ctx, registry.Target{Resource: res, Version: &res.Versions[0], Namespace: namespace},
		registry.ListOptions{Selection: s})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}
