package registry

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
)

// Attributes are what admission knows of a write.
type Attributes struct {
	// Verb is create, update or delete.
	Verb            string
	Resource        *api.Resource
	Version         *api.Version
	Subresource     string
	Namespace, Name string
	// Object is what is to be stored, of the hub type; nil for a deletion. Old is
	// what is stored, nil for a creation.
	Object, Old api.Object
	User        *request.User
	DryRun      bool
}

// GroupResource names the resource in messages.
func (a *Attributes) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: a.Resource.Versions[0].Group, Resource: a.Resource.Name}
}

// Admission is asked before anything is stored.
type Admission interface {
	// Mutate comes before the kind's own rules and may change the object.
	Mutate(ctx context.Context, a *Attributes) error
	// Validate comes after them and may only refuse.
	Validate(ctx context.Context, a *Attributes) error
}

// attributes describes a write to admission; nil when there is none to ask.
func (r *Registry) attributes(ctx context.Context, t Target, verb string, obj, old api.Object, dryRun bool) *Attributes {
	if r.o.Admission == nil {
		return nil
	}
	a := &Attributes{
		Verb: verb, Resource: t.Resource, Version: t.Version, Namespace: t.Namespace, Name: t.Name,
		Object: obj, Old: old, User: request.From(ctx).User, DryRun: dryRun,
	}
	switch {
	case t.Status:
		a.Subresource = "status"
	case t.Sub != nil:
		a.Subresource = t.Sub.Name
	}
	return a
}

// mutate and validate are the two phases; both do nothing for nil.
func (r *Registry) mutate(ctx context.Context, a *Attributes) error {
	if a == nil {
		return nil
	}
	return r.o.Admission.Mutate(ctx, a)
}

func (r *Registry) validate(ctx context.Context, a *Attributes) error {
	if a == nil {
		return nil
	}
	return r.o.Admission.Validate(ctx, a)
}
