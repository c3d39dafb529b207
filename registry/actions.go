package registry

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
)

// actions implements api.Actions for one request.
type actions struct {
	r   *Registry
	ctx context.Context
	t   Target
	o   WriteOptions
}

// target returns a Target for an object of another resource in the request's namespace.
func (a *actions) target(resource, group, name string) (Target, error) {
	res, version, err := a.r.LookupResource(schema.GroupResource{Group: group, Resource: resource})
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
	return a.r.object(a.ctx, t)
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
	return list.Objects()
}

// Update implements api.Actions.
func (a *actions) Update(resource, group, name string, change func(api.Object) (api.Object, error)) (api.Object, error) {
	t, err := a.target(resource, group, name)
	if err != nil {
		return nil, err
	}
	out, err := a.r.Update(a.ctx, t, func(_ context.Context, old api.Object) (api.Object, error) {
		return change(old)
	}, UpdateOptions{WriteOptions: a.o, SkipStrategy: true})
	return out.Object, err
}

// UpdateStatus implements api.Actions.
func (a *actions) UpdateStatus(resource, group, name string, change func(api.Object) (api.Object, error)) error {
	t, err := a.target(resource, group, name)
	if err != nil {
		return err
	}
	t.Status = true
	_, err = a.r.Update(request.AsServer(a.ctx), t, func(_ context.Context, old api.Object) (api.Object, error) {
		return change(old)
	}, UpdateOptions{WriteOptions: WriteOptions{DryRun: a.o.DryRun, Manager: ServerManager}})
	return err
}

// Delete implements api.Actions.
func (a *actions) Delete(resource, group, name string, options *metav1.DeleteOptions) error {
	t, err := a.target(resource, group, name)
	if err != nil {
		return err
	}
	o, err := NewDeleteOptions(options)
	if err != nil {
		return err
	}
	o.WriteOptions = a.o
	_, err = a.r.Delete(a.ctx, t, o)
	return err
}

// DryRun implements api.Actions.
func (a *actions) DryRun() bool { return a.o.DryRun }
