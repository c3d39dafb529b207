package controllers

import (
	"context"
	"net/http"
	"slices"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// finalizerProtection protects objects in use from deletion. It removes the finalizer from a
// deleted object that is not in use, and adds it to objects that lack it.
type finalizerProtection struct {
	Config
	client    *reconcile.Client
	resource  *api.Resource
	finalizer string
	// removesOnly is set if admission alone adds the finalizer.
	removesOnly bool
	inUse       func(ctx context.Context, obj api.Object) (bool, error)
}

// usedBy returns a function that reports whether an object of some resources uses another object. They are read
// in its namespace, or in all namespaces if it is cluster-scoped.
func usedBy(
	c Config, uses func(user, obj api.Object) bool, resources ...*api.Resource,
) func(context.Context, api.Object) (bool, error) {
	return func(ctx context.Context, obj api.Object) (bool, error) {
		for _, res := range resources {
			items, err := c.Items(ctx, res, obj.GetNamespace(), registry.Selection{})
			if err != nil {
				return true, err
			}
			for _, item := range items {
				user, err := item.Object()
				if err != nil || uses(user, obj) {
					return true, err
				}
			}
		}
		return false, nil
	}
}

// sync adds or removes the finalizer of one object.
func (p *finalizerProtection) sync(ctx context.Context, key objectName) (reconcile.Result, error) {
	obj, err := p.Live(ctx, p.resource, key.namespace, key.name)
	if obj == nil || err != nil {
		return reconcile.Done, err
	}
	has, going := slices.Contains(obj.GetFinalizers(), p.finalizer), obj.GetDeletionTimestamp() != nil
	if has != going || !going && p.removesOnly { // in the desired state, or deleted and without the finalizer
		return reconcile.Done, nil
	}
	obj = obj.DeepCopyObject().(api.Object)
	if going {
		if used, err := p.inUse(ctx, obj); used || err != nil {
			return reconcile.Done, err
		}
		obj.SetFinalizers(slices.DeleteFunc(obj.GetFinalizers(), func(f string) bool { return f == p.finalizer }))
	} else {
		obj.SetFinalizers(append(obj.GetFinalizers(), p.finalizer))
	}
	err = p.client.Do(ctx, http.MethodPut, reconcile.ObjectPath(p.resource, key.namespace, key.name), "application/json", obj, nil)
	return reconcile.AfterWrite(err)
}

// cachedKeys returns the keys of all cached objects of a resource in a namespace.
func cachedKeys(c Config, res *api.Resource, namespace string) (keys []objectName) {
	t := registry.Target{Resource: res, Version: &res.Versions[0], Namespace: namespace}
	list, err := c.Registry.List(context.Background(), t, registry.ListOptions{Read: storage.Read{Match: storage.Any}})
	if err != nil {
		return nil // the store is closing
	}
	for _, item := range list.Items {
		keys = append(keys, objectName{namespace, item.Name()})
	}
	return keys
}

func objectKey(c reconcile.Change) []objectName {
	if c.Deleted {
		return nil
	}
	return []objectName{{c.Object.GetNamespace(), c.Object.GetName()}}
}
