package registry

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Locate returns the address of the connection that t names, or nil if there is none yet.
// Admission (see Connect) and then authorize, which may be nil, run before any object is
// read. Reading a log is a get, which admission does not see.
func (r *Registry) Locate(
	ctx context.Context, t Target, to *api.Connection, options runtime.Object, kubelets api.Kubelets,
	authorize func(context.Context) error,
) (*api.Location, error) {
	if to.Kind != "" {
		if err := r.Connect(ctx, t, options); err != nil {
			return nil, err
		}
	}
	if authorize != nil {
		if err := authorize(ctx); err != nil {
			return nil, err
		}
	}
	near := &api.ConnectLookup{
		Kubelets:    kubelets,
		PrefersIPv6: r.o.PrefersIPv6,
		Get:         func(resource, name string) (api.Object, error) { return r.getNear(ctx, t, resource, name) },
		List: func(resource schema.GroupResource, label, value string) ([]api.Object, error) {
			return r.listNear(ctx, t, resource, labels.Set{label: value})
		},
	}
	return to.Locate(near, t.Name, options)
}

// getNear returns an object of the core group, in the namespace of t if it is namespaced.
func (r *Registry) getNear(ctx context.Context, t Target, resource, name string) (api.Object, error) {
	res, version, err := r.LookupResource(schema.GroupResource{Resource: resource})
	if err != nil {
		return nil, err
	}
	other := Target{Resource: res, Version: version, Name: name}
	if res.Namespaced {
		other.Namespace = t.Namespace
	}
	item, err := r.Get(ctx, other, storage.Read{})
	if apierrors.IsNotFound(err) {
		// As in kube-apiserver, the error names the resource of the request.
		return nil, apierrors.NewNotFound(t.groupResource(), name)
	}
	if err != nil {
		return nil, err
	}
	return item.Object()
}

// listNear returns the objects of a resource in the namespace of t that have labels.
func (r *Registry) listNear(ctx context.Context, t Target, resource schema.GroupResource, wanted labels.Set) ([]api.Object, error) {
	res, version, err := r.LookupResource(resource)
	if err != nil {
		return nil, err
	}
	list, err := r.List(ctx, Target{Resource: res, Version: version, Namespace: t.Namespace},
		ListOptions{Selection: Selection{Labels: labels.SelectorFromSet(wanted)}})
	if err != nil {
		return nil, err
	}
	return list.Objects()
}
