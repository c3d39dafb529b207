package handlers

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// sent reads the options of a write, which are of a kind, and the object in its
// body.
func (h *Handler) sent(c *call, kind string) (api.Object, writeOptions, error) {
	o, err := c.writeOptions(kind, "")
	if err != nil {
		return nil, o, err
	}
	data, err := c.readBody()
	if err != nil {
		return nil, o, err
	}
	obj, err := h.decode(c.r, c.codec, data, o.FieldValidation)
	return obj, o, err
}

func (h *Handler) create(c *call) error {
	v, err := h.view(c, offerObject)
	if err != nil {
		return err
	}
	obj, o, err := h.sent(c, "CreateOptions")
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
	v, err := h.view(c, offerObject)
	if err != nil {
		return err
	}
	obj, o, err := h.sent(c, "UpdateOptions")
	if err != nil {
		return err
	}
	if err := c.checkName(obj); err != nil {
		return err
	}
	replace := func(_ context.Context, old api.Object) (api.Object, error) {
		return c.ApplySubresource(old, obj.DeepCopyObject().(api.Object))
	}
	out, err := h.Registry.Update(c.r.Context(), c.Target, replace, registry.UpdateOptions{
		WriteOptions: o.WriteOptions, AuthorizeCreate: h.creationAuthorization(c), IsReplace: true,
	})
	if err != nil {
		return err
	}
	return h.writeOutcome(c, &v, out)
}

// checkName compares what an object calls itself with the URL.
func (c *call) checkName(obj api.Object) error {
	switch name := obj.GetName(); {
	case name == "":
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", c.Name))
	case name != c.Name:
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, c.Name))
	}
	return nil
}

// writeOutcome answers with the object that a write led to.
func (h *Handler) writeOutcome(c *call, v *view, out registry.Outcome) error {
	code := http.StatusOK
	if out.Created {
		code = http.StatusCreated
	}
	if out.Item != nil && (c.Sub == nil || c.Sub.Kind == nil) {
		keepCells(c.codec, out.Item)
		return h.writeOne(c.w, v, code, out.Item, resourceVersion(out.Item))
	}
	obj, err := c.SubresourceView(out.Object)
	if err != nil {
		return err
	}
	return h.writeOne(c.w, v, code, bare{obj}, obj.GetResourceVersion())
}

// keepCells makes the cells of an item's row while its object is at hand. They
// are small and made in less than a microsecond; the first table after many
// writes would have to decode all that was written.
func keepCells(c *codec, item *storage.Item) {
	_, _ = item.Encoding(c.cellsSlot, c.toCells) // whoever needs them is told what is wrong
}

// post does what is asked for at a subresource.
func (h *Handler) post(c *call) error {
	v, err := h.view(c, offerAnswer)
	if err != nil {
		return err
	}
	obj, o, err := h.sent(c, "CreateOptions")
	if err != nil {
		return err
	}
	answer, err := h.Registry.Post(c.r.Context(), c.Target, obj, o.WriteOptions)
	switch {
	case err != nil:
		return err
	case answer != nil:
		return h.writeOne(c.w, &v, http.StatusCreated, bare{answer}, answer.GetResourceVersion())
	}
	h.writeStatus(c.w, c.r, v.media, http.StatusCreated, created())
	return nil
}

func (h *Handler) delete(c *call) error {
	v, err := h.view(c, offerObject)
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
	if !out.Deleted || c.Resource.Delete.ReturnDeletedObject {
		return h.writeOutcome(c, &v, out)
	}
	h.writeStatus(c.w, c.r, v.media, http.StatusOK, success(&metav1.StatusDetails{
		Name: c.Name, Group: c.Version.Group, Kind: c.Resource.Name, UID: out.Object.GetUID(),
	}))
	return nil
}

// warnOfOrphans tells what becomes of what an object owns, where the client said
// nothing of it and may not expect that.
func (c *call) warnOfOrphans(o registry.DeleteOptions) {
	if c.Resource.Delete.OrphanWarning != "" && o.Propagation == "" {
		request.From(c.r.Context()).Warn(c.Resource.Delete.OrphanWarning)
	}
}

func (h *Handler) deleteCollection(c *call) error {
	v, err := h.view(c, offerObject)
	if err != nil {
		return err
	}
	page, token, err := c.page()
	if err != nil {
		return err
	}
	page.Objects = h.selectable(c)
	options, err := c.deleteOptions()
	if err != nil {
		return err
	}
	if options.IgnoreReadErrors {
		return invalidOptions("DeleteOptions", field.ErrorList{field.Invalid(registry.IgnoreReadErrors(), true,
			"is not allowed with DELETECOLLECTION, try again after removing the option")})
	}
	c.warnOfOrphans(options)
	list, err := h.Registry.DeleteCollection(c.r.Context(), c.Target, page, options)
	if err != nil {
		return errPage(token, err)
	}
	shown, err := h.subjects(c.r.Context(), c.Target, c.codec, list.Items)
	if err != nil {
		return err
	}
	return h.writeList(c.w, &v, c.listMeta(list), shown)
}
