package registry

import "github.com/miniapiserver/miniapiserver/api"

// SubresourceView is the object that t names as its subresource shows it: as itself, or
// in the subresource's own kind.
func (t Target) SubresourceView(obj api.Object) (api.Object, error) {
	if t.Sub == nil || t.Sub.View == nil {
		return obj, nil
	}
	return t.Sub.View(obj)
}

// ApplySubresource makes of old what a client asks for at the subresource that t names.
// What the client says of uid and resourceVersion goes along, so that it is
// held against what is there.
func (t Target) ApplySubresource(old, asked api.Object) (api.Object, error) {
	if t.Sub == nil || t.Sub.Change == nil || t.Sub.Kind == nil {
		return asked, nil
	}
	obj, err := t.Sub.Change(old, asked)
	if err != nil {
		return nil, err
	}
	obj.SetResourceVersion(asked.GetResourceVersion())
	if uid := asked.GetUID(); uid != "" {
		obj.SetUID(uid)
	}
	return obj, nil
}
