package handlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// decodeWrite decodes the options of a write, which are of the given kind, and the object in
// its body.
func (h *Handler) decodeWrite(c *call, kind string) (api.Object, writeOptions, error) {
	o, err := c.writeOptions(kind, "")
	if err != nil {
		if kind == "CreateOptions" { // kube-apiserver checks the media type of a create first
			err = cmp.Or(c.codec.CheckBodyMedia(c.r), err)
		}
		return nil, o, err
	}
	data, err := c.readBody()
	if err != nil {
		return nil, o, err
	}
	obj, err := c.codec.Decode(c.r, data, o.FieldValidation)
	if err == nil {
		c.auditBody(obj)
		c.recordBody(obj, data)
		c.span.Event("Conversion done")
	}
	return obj, o, err
}

func (h *Handler) create(c *call) error {
	v, err := c.codec.View(c.r, c.Resource, representation.OfferObject)
	if err != nil {
		return err
	}
	obj, o, err := h.decodeWrite(c, "CreateOptions")
	if err != nil {
		return err
	}
	out, err := h.Registry.Create(c.r.Context(), c.Target, obj, o.WriteOptions)
	if err != nil {
		return err
	}
	return h.writeOutcome(c, &v, out)
}

func (h *Handler) update(c *call) error {
	if c.Name == "" {
		return errNoName()
	}
	v, err := c.codec.View(c.r, c.Resource, c.offer)
	if err != nil {
		return err
	}
	obj, o, err := h.decodeWrite(c, "UpdateOptions")
	if err != nil {
		return err
	}
	if err := c.checkName(obj); err != nil {
		return err
	}
	api.DedupOwnerReferences(obj, false, request.From(c.r.Context()).Warn)
	replace := func(context.Context, api.Object) (api.Object, error) {
		return obj.DeepCopyObject().(api.Object), nil
	}
	out, err := h.Registry.Update(c.r.Context(), c.Target, replace, registry.UpdateOptions{
		WriteOptions: o.WriteOptions, AuthorizeCreate: h.creationAuthorization(c), Preconditions: uidPrecondition(obj),
	})
	if err != nil {
		return err
	}
	return h.writeOutcome(c, &v, out)
}

// uidPrecondition returns the uid in an object, if it has one, as a precondition.
func uidPrecondition(obj api.Object) (p metav1.Preconditions) {
	if uid := obj.GetUID(); uid != "" {
		p.UID = &uid
	}
	return p
}

// checkName returns an error unless the object has the namespace and the name in the URL. An
// object without a namespace gets it.
func (c *call) checkName(obj api.Object) error {
	if err := c.MatchNamespace(obj); err != nil {
		return err
	}
	switch name := obj.GetName(); {
	case name == "":
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", c.Name))
	case name != c.Name:
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, c.Name))
	}
	return nil
}

// writeOutcome sends the object that a write returned.
func (h *Handler) writeOutcome(c *call, v *representation.View, out registry.Outcome) error {
	c.span.Event(verbSpanOf(c.info.Verb).stored)
	c.recordOutcome(out)
	code := http.StatusOK
	switch {
	case out.Created:
		code = http.StatusCreated
	case out.Accepted:
		code = http.StatusAccepted
	}
	if out.Item != nil && api.BodyKind(c.Sub) == nil {
		c.codec.CacheCells(out.Item)
		return v.WriteObject(c.w, code, out.Item)
	}
	obj, err := c.SubresourceView(out.Object)
	if err != nil {
		return err
	}
	return v.WriteObject(c.w, code, representation.Unstored{Object: obj})
}

// post serves a create on a subresource.
func (h *Handler) post(c *call) error {
	v, err := c.codec.View(c.r, c.Resource, representation.OfferReview)
	if err != nil {
		return err
	}
	return h.postUnstored(c, &v, h.Registry.Post)
}

// postUnstored decodes the body, calls create, and writes the object that it returns; nil means
// that the response is a Status.
func (h *Handler) postUnstored(c *call, v *representation.View,
	create func(context.Context, registry.Target, api.Object, registry.WriteOptions) (api.Object, error)) error {
	obj, o, err := h.decodeWrite(c, "CreateOptions")
	if err != nil {
		return err
	}
	response, err := create(c.r.Context(), c.Target, obj, o.WriteOptions)
	switch {
	case err != nil:
		return err
	case response != nil:
		return v.WriteObject(c.w, http.StatusCreated, representation.Unstored{Object: response})
	}
	if err := v.TableFault(); err != nil {
		return err
	}
	h.responder.WriteStatus(c.w, c.r, v.Media, http.StatusCreated, representation.Created())
	return nil
}

func (h *Handler) delete(c *call) error {
	v, err := c.codec.View(c.r, c.Resource, representation.OfferObject)
	if err != nil {
		return err
	}
	o, err := c.deleteOptions()
	if err != nil {
		return err
	}
	if o.IgnoreReadErrors {
		return h.unsafeDelete(c, &v, o)
	}
	c.warnOfOrphans(o)
	out, err := h.Registry.Delete(c.r.Context(), c.Target, o)
	if err != nil {
		return err
	}
	if !out.Deleted || c.Resource.Delete.ReturnDeletedObject || c.Version.ReturnDeletedObject {
		return h.writeOutcome(c, &v, out)
	}
	c.span.Event(verbSpanOf(c.info.Verb).stored)
	c.recordOutcome(out)
	if err := v.TableFault(); err != nil {
		return err
	}
	h.responder.WriteStatus(c.w, c.r, v.Media, http.StatusOK, representation.Success(&metav1.StatusDetails{
		Name: c.Name, Group: c.Version.Group, Kind: c.Resource.Name, UID: out.Object.GetUID(),
	}))
	return nil
}

// warnOfOrphans warns the client of a kind's default propagation, which leaves the dependents
// of a deleted object in place.
func (c *call) warnOfOrphans(o registry.DeleteOptions) {
	if c.Resource.Delete.OrphanWarning != "" && o.Propagation == "" {
		request.From(c.r.Context()).Warn(c.Resource.Delete.OrphanWarning)
	}
}

func (h *Handler) deleteCollection(c *call) error {
	v, err := c.codec.View(c.r, c.Resource, representation.OfferObject)
	if err != nil {
		return err
	}
	o, selection, err := c.selectedBy()
	if err != nil {
		return err
	}
	options, err := c.deleteOptions()
	if err != nil {
		return err
	}
	if options.IgnoreReadErrors {
		return invalidOptions("DeleteOptions", field.ErrorList{field.Invalid(registry.IgnoreReadErrors(), true,
			"is not allowed with DELETECOLLECTION, try again after removing the option")})
	}
	page, token, err := c.pageOf(o, selection)
	if err != nil {
		return err
	}
	page.Objects = c.codec.ObjectsForSelection(c.Target)
	c.warnOfOrphans(options)
	list, err := h.Registry.DeleteCollection(c.r.Context(), c.Target, page, options)
	if err != nil {
		return errPage(token, err)
	}
	if c.span != nil {
		c.span.Event(verbSpanOf(c.info.Verb).stored, attribute.Int("count", len(list.Items)))
	}
	encodables, err := c.codec.Encodables(c.r.Context(), c.Target, list.Items)
	if err != nil {
		return err
	}
	return v.WriteList(c.w, c.listMeta(list), encodables)
}

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
func (h *Handler) connectAuthorization(c *call, to *api.Connection) func(context.Context) error {
	if !to.RequiresCreate || c.info.Verb == api.VerbCreate {
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
