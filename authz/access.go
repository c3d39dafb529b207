package authz

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Access implements api.Access with an authorizer and a registry.
type Access struct {
	Authorizer Authorizer
	Registry   *registry.Registry
}

// Authorize implements api.Access. The error is the response to a forbidden request.
func (a *Access) Authorize(ctx context.Context, info *request.Info) error {
	return Require(ctx, a.Authorizer, request.From(ctx).User, info)
}

// Require returns nil if the authorizer allows a request of a user, and otherwise the response to the
// forbidden request.
func Require(ctx context.Context, by Authorizer, user *request.User, info *request.Info) error {
	decision, reason, err := by.Authorize(ctx, user, info)
	switch {
	case decision == Allow: // errors of other authorizers do not matter
		return nil
	case err != nil && reason != "":
		reason = fmt.Sprintf("%v: %s", err, reason)
	case err != nil:
		reason = err.Error()
	}
	return Forbidden(user, info, reason)
}

// Namespace implements api.Access.
func (a *Access) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	res, err := a.Registry.FindResource(corev1.Resource("namespaces"))
	if err != nil {
		return nil, err
	}
	item, err := a.Registry.Get(ctx, registry.Target{Resource: res, Version: &res.Versions[0], Name: name}, storage.Read{})
	if err != nil {
		return nil, err
	}
	obj, err := item.Object()
	if err != nil {
		return nil, err
	}
	return obj.(*corev1.Namespace), nil
}
