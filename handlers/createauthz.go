package handlers

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/request"
)

// The chain authorizes the verb of the request. Some requests do more than their verb,
// and are authorized here for create as well.

// creationAuthorization returns a function that authorizes the creation of the object
// in the request, for writes that create missing objects. It asks the authorizer once,
// however often the write is retried.
func (h *Handler) creationAuthorization(c *call) func(context.Context) error {
	var checked bool
	var result error
	return func(ctx context.Context) error {
		if checked {
			return result
		}
		checked = true
		user, info := request.From(ctx).User, c.createInfo()
		decision, reason, err := h.Authorizer.Authorize(ctx, user, info)
		switch {
		case decision == authz.Allow:
		case err != nil:
			result = apierrors.NewInternalError(err)
		default:
			result = authz.Forbidden(user, info, reason)
		}
		return result
	}
}

// connectAuthorization returns a function that authorizes create for a connection, or
// nil if the chain has already done so or the connection does not require it.
func (h *Handler) connectAuthorization(c *call) func(context.Context) error {
	if !c.Sub.Connection.RequiresCreate || c.info.Verb == api.VerbCreate {
		return nil
	}
	info := c.createInfo()
	return func(ctx context.Context) error {
		decision, reason, err := h.Authorizer.Authorize(ctx, request.From(ctx).User, info)
		switch {
		case err != nil:
			return err
		case decision != authz.Allow:
			// kube-apiserver returns only the reason here, which RBAC leaves empty.
			gr := schema.GroupResource{Group: info.Group, Resource: info.Resource}
			return apierrors.NewForbidden(gr, info.Name, errors.New(reason))
		}
		return nil
	}
}

// createInfo returns the request info of creating the object or subresource. A
// namespace is cluster-scoped, although its path has its name in the position of the
// namespace.
func (c *call) createInfo() *request.Info {
	info := *c.info
	info.Verb, info.Namespace = api.VerbCreate, c.Namespace
	return &info
}
