package registry

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Shown is the object that t names as its subresource shows it: as itself, or
// in the subresource's own kind.
func (t Target) Shown(obj api.Object) (api.Object, error) {
	if t.Sub == nil || t.Sub.View == nil {
		return obj, nil
	}
	return t.Sub.View(obj)
}

// Asked makes of old what a client asks for at the subresource that t names.
// What the client says of uid and resourceVersion goes along, so that it is
// held against what is there.
func (t Target) Asked(old, asked api.Object) (api.Object, error) {
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

// Post does what a POST to the subresource that t names asks for. A question is
// answered with an object; of anything else the answer is nil.
func (r *Registry) Post(ctx context.Context, t Target, asked api.Object, o WriteOptions) (api.Object, error) {
	if err := setNamespace(t, asked); err != nil {
		return nil, err
	}
	if t.Sub.Source != "" {
		// About an object that is not there, nothing else is of interest.
		if _, err := r.Get(ctx, t, storage.Read{}); err != nil {
			return nil, err
		}
		return r.answer(ctx, t, t.Sub.Kind, t.Sub.Source, asked, o)
	}
	if err := r.admitPost(ctx, t, asked, o); err != nil {
		return nil, err
	}
	o.Admitted = true
	if t.Sub.Act != nil {
		return nil, t.Sub.Act(ctx, &actions{r: r, ctx: ctx, t: t, o: o}, t.Name, asked)
	}
	_, err := r.Update(ctx, t, func(_ context.Context, old api.Object) (api.Object, error) {
		return t.Sub.Change(old, asked)
	}, UpdateOptions{WriteOptions: o, Whole: t.Sub.Whole})
	return nil, err
}

// actions implements api.Actions for one request.
type actions struct {
	r   *Registry
	ctx context.Context
	t   Target
	o   WriteOptions
}

// target names an object of another resource in the namespace of the request.
func (a *actions) target(resource, group, name string) (Target, error) {
	res, version, err := a.r.find(schema.GroupResource{Group: group, Resource: resource})
	if err != nil {
		return Target{}, err
	}
	return Target{Resource: res, Version: version, Namespace: a.t.Namespace, Name: name}, nil
}

// Get implements api.Actions.
func (a *actions) Get(resource, group, name string) (api.Object, error) {
	t, err := a.target(resource, group, name)
	if err != nil {
		return nil, err
	}
	item, err := a.r.Get(a.ctx, t, storage.Read{})
	if err != nil {
		return nil, err
	}
	return item.Object()
}

// List implements api.Actions.
func (a *actions) List(resource, group string) ([]api.Object, error) {
	t, err := a.target(resource, group, "")
	if err != nil {
		return nil, err
	}
	list, err := a.r.List(a.ctx, t, ListOptions{})
	if err != nil {
		return nil, err
	}
	out := make([]api.Object, len(list.Items))
	for i, item := range list.Items {
		if out[i], err = item.Object(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Update implements api.Actions.
func (a *actions) Update(resource, group, name string, change func(api.Object) (api.Object, error)) error {
	t, err := a.target(resource, group, name)
	if err != nil {
		return err
	}
	_, err = a.r.Update(a.ctx, t, func(_ context.Context, old api.Object) (api.Object, error) {
		return change(old)
	}, UpdateOptions{WriteOptions: a.o, Whole: true})
	return err
}

// Delete implements api.Actions.
func (a *actions) Delete(resource, group, name string, options *api.DeleteRequest) error {
	t, err := a.target(resource, group, name)
	if err != nil {
		return err
	}
	o := DeleteOptions{WriteOptions: a.o}
	if options != nil {
		o.GracePeriodSeconds = options.GracePeriodSeconds
		o.Preconditions = &metav1.Preconditions{}
		if options.UID != "" {
			uid := types.UID(options.UID)
			o.Preconditions.UID = &uid
		}
		if options.ResourceVersion != "" {
			o.Preconditions.ResourceVersion = &options.ResourceVersion
		}
	}
	_, err = a.r.Delete(a.ctx, t, o)
	return err
}

// DryRun implements api.Actions.
func (a *actions) DryRun() bool { return a.o.DryRun }
