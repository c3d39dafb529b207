package controllers

import (
	"context"
	"net/http"
	"slices"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// protection keeps objects that are in use. It removes the finalizer of a deleted
// object that nothing uses, and adds the finalizer to objects that lack it.
type protection struct {
	Config
	client    *Client
	resource  *api.Resource
	finalizer string
	// removesOnly: the finalizer is never added to objects that lack it.
	removesOnly bool
	used        func(ctx context.Context, obj api.Object) (bool, error)
}

// sync looks at one object.
func (p *protection) sync(ctx context.Context, key objectName) (verdict, error) {
	obj, err := p.live(ctx, p.resource, key.namespace, key.name)
	if obj == nil || err != nil {
		return done, err
	}
	has, going := slices.Contains(obj.GetFinalizers(), p.finalizer), obj.GetDeletionTimestamp() != nil
	if has != going || !going && p.removesOnly { // in order, or being deleted for other reasons
		return done, nil
	}
	obj = obj.DeepCopyObject().(api.Object)
	if going {
		if used, err := p.used(ctx, obj); used || err != nil {
			return done, err
		}
		obj.SetFinalizers(slices.DeleteFunc(obj.GetFinalizers(), func(f string) bool { return f == p.finalizer }))
	} else {
		obj.SetFinalizers(append(obj.GetFinalizers(), p.finalizer))
	}
	err = p.client.do(ctx, http.MethodPut, pathOf(p.resource, key.namespace, key.name), "application/json", obj, nil)
	return afterWrite(err)
}

// all are the keys of a resource in a namespace, as the cache has them.
func all(c Config, res *api.Resource, namespace string) (keys []objectName) {
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

func keyOf(c change) []objectName {
	if c.gone {
		return nil
	}
	return []objectName{{c.object.GetNamespace(), c.object.GetName()}}
}
