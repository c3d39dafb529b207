package registry

import (
	"context"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
)

// SubresourceView returns the representation of obj at the subresource that t names: obj
// itself, or an object of the subresource's kind.
func (t Target) SubresourceView(obj api.Object) (api.Object, error) {
	if t.Sub == nil || t.Sub.View == nil {
		return obj, nil
	}
	return t.Sub.View(obj)
}

// ApplySubresource returns old with the change that a client sent to the subresource that t
// names. The sent uid and resourceVersion remain, as preconditions.
func (t Target) ApplySubresource(ctx context.Context, old, sent api.Object) (api.Object, error) {
	if t.Sub == nil || t.Sub.Change == nil || t.Sub.Kind == nil {
		return sent, nil
	}
	if err := t.MatchNamespace(sent); err != nil {
		return nil, err
	}
	api.DedupOwnerReferences(sent, true, request.From(ctx).Warn) // the object has others
	obj, err := t.Sub.Change(old, sent)
	if err != nil {
		return nil, err
	}
	obj.SetResourceVersion(sent.GetResourceVersion())
	if uid := sent.GetUID(); uid != "" {
		obj.SetUID(uid)
	}
	return obj, nil
}
