package registry

import (
	"context"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Objects of kinds without a Go type are stored in one version, or still in one
// that was stored before, and every verb is about objects in the version of its
// request. These are the two places where one becomes the other.

// Objects are items as objects of the hub of t's resource, which must not be
// changed.
func (t Target) Objects(ctx context.Context, items ...*storage.Item) ([]api.Object, error) {
	out := make([]api.Object, len(items))
	for i, item := range items {
		obj, err := item.Object()
		if err != nil {
			return nil, err
		}
		out[i] = obj
	}
	if t.Resource.Storage.ConvertFromStored == nil {
		return out, nil
	}
	return t.Resource.Storage.ConvertFromStored(ctx, out)
}

// object is Objects for one.
func (t Target) object(ctx context.Context, item *storage.Item) (api.Object, error) {
	obj, err := item.Object()
	if err != nil || t.Resource.Storage.ConvertFromStored == nil {
		return obj, err
	}
	out, err := t.Resource.Storage.ConvertFromStored(ctx, []api.Object{obj})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// toStored is an object of the hub as it is stored.
func (t Target) toStored(ctx context.Context, obj api.Object) (api.Object, error) {
	if t.Resource.Storage.ConvertToStored == nil {
		return obj, nil
	}
	return t.Resource.Storage.ConvertToStored(ctx, obj)
}

// roundTripStored is obj as it would be read after it was stored, for a dry run: with the
// defaults of what the server itself took out of it, a status above all.
func (t Target) roundTripStored(ctx context.Context, obj api.Object) (api.Object, error) {
	stored, err := t.toStored(ctx, obj)
	if err != nil {
		return nil, err
	}
	value, err := t.Resource.EncodeStored(stored)
	if err != nil {
		return nil, err
	}
	out, err := t.Resource.DecodeStored(value)
	if err != nil {
		return nil, err
	}
	out.SetResourceVersion(obj.GetResourceVersion())
	if t.Resource.Storage.ConvertFromStored == nil {
		return out, nil
	}
	all, err := t.Resource.Storage.ConvertFromStored(ctx, []api.Object{out})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// outcome is what is stored after a write. Where that is not of the version of
// the request, the item shows nothing that the client may see.
func (t Target) outcome(ctx context.Context, item *storage.Item) (Outcome, error) {
	obj, err := item.Object()
	if err != nil || t.Resource.Storage.ConvertFromStored == nil {
		return Outcome{Object: obj, Item: item}, err
	}
	out, err := t.Resource.Storage.ConvertFromStored(ctx, []api.Object{obj})
	if err != nil {
		return Outcome{}, err
	}
	if out[0] != obj {
		item = nil
	}
	return Outcome{Object: out[0], Item: item}, nil
}
