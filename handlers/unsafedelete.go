package handlers

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// unsafeVerb is the verb that a user needs, besides delete, to delete an object without
// reading it.
const unsafeVerb = "unsafe-delete-ignore-read-errors"

// unsafeDelete deletes an object that cannot be read, as kube-apiserver does with the
// feature AllowUnsafeMalformedObjectDeletion. It is the only way to make a kind
// listable again without access to etcd.
func (h *Handler) unsafeDelete(c *call, v *representation.View, o registry.DeleteOptions) error {
	ctx := c.r.Context()
	request.From(ctx).Annotate("apiserver.k8s.io/unsafe-delete-ignore-read-error", "")
	if err := h.Registry.DeleteCorrupt(ctx, c.Target, o, func() error { return h.authorizeUnsafe(c) }); err != nil {
		return err
	}
	h.responder.RequestLogger(c.r).Warn("deleted an object that cannot be read", "resource", c.Resource.Name, "group", c.Version.Group,
		"namespace", c.Namespace, "name", c.Name, "user", request.From(ctx).User.Name)
	// There is no object to return. kube-apiserver returns the kind then.
	status := representation.Success(&metav1.StatusDetails{Name: c.Name, Kind: c.Resource.Kind})
	status.Code = http.StatusOK
	h.responder.WriteStatus(c.w, c.r, v.Media, http.StatusOK, status)
	return nil
}

// authorizeUnsafe returns an error if the user may not delete the object unread.
func (h *Handler) authorizeUnsafe(c *call) error {
	ctx := c.r.Context()
	info := *c.info
	info.Verb, info.Namespace = unsafeVerb, c.Namespace
	decision, reason, err := h.Authorizer.Authorize(ctx, request.From(ctx).User, &info)
	gr := schema.GroupResource{Group: c.Version.Group, Resource: c.Resource.Name}
	switch {
	case decision == authz.Allow:
		return nil
	case err != nil:
		return apierrors.NewForbidden(gr, c.Name, fmt.Errorf("error while checking permission for %q, %w", unsafeVerb, err))
	}
	return apierrors.NewForbidden(gr, c.Name, fmt.Errorf("not permitted to do %q, reason: %s", unsafeVerb, reason))
}
