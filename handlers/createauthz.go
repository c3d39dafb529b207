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

// The chain authorizes the verb of the request. Some requests do more than that
// verb says, and are authorized here for create as well.

// creationAuthorization returns a function that authorizes the creation of the
// object that c names, for writes that create missing objects. It asks the
// authorizer once, however often the write is tried.
func (h *Handler) creationAuthorization(c *call) func(context.Context) error {
	info := c.createInfo()
	var asked bool
	var result error
	return func(ctx context.Context) error {
		if asked {
			return result
		}
		asked = true
		user := request.From(ctx).User
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

// connectAuthorization returns a function that authorizes the creation of the
// connection that c names, or nil if the chain has done so or need not.
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
			// kube-apiserver gives the bare reason here, which RBAC leaves empty.
			gr := schema.GroupResource{Group: info.Group, Resource: info.Resource}
			return apierrors.NewForbidden(gr, info.Name, errors.New(reason))
		}
		return nil
	}
}

// createInfo describes the creation of the object, or the subresource, that c
// names. A namespace is cluster-scoped, although its path has its name where
// that of other objects has their namespace.
func (c *call) createInfo() *request.Info {
	info := *c.info
	info.Verb, info.Namespace = api.VerbCreate, c.Namespace
	return &info
}
