package handlers

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

func (h *Handler) create(c *call) error {
	v, err := h.view(c, offerObject)
	if err != nil {
		return err
	}
	o, err := c.writeOptions("CreateOptions", "")
	if err != nil {
		return err
	}
	data, err := readBody(c.r)
	if err != nil {
		return err
	}
	obj, err := h.decode(c.r, c.codec, data, o.fieldValidation)
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
	v, err := h.view(c, offerObject)
	if err != nil {
		return err
	}
	o, err := c.writeOptions("UpdateOptions", "")
	if err != nil {
		return err
	}
	data, err := readBody(c.r)
	if err != nil {
		return err
	}
	obj, err := h.decode(c.r, c.codec, data, o.fieldValidation)
	if err != nil {
		return err
	}
	if err := c.checkName(obj); err != nil {
		return err
	}
	replace := func(context.Context, api.Object) (api.Object, error) { return obj.DeepCopyObject().(api.Object), nil }
	out, err := h.Registry.Update(c.r.Context(), c.Target, replace, registry.UpdateOptions{
		WriteOptions: o.WriteOptions, CreateMissing: true, Replace: true,
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
	if out.Item != nil {
		return h.writeOne(c.w, v, code, out.Item, resourceVersion(out.Item))
	}
	return h.writeOne(c.w, v, code, bare{out.Object}, out.Object.GetResourceVersion())
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
	out, err := h.Registry.Delete(c.r.Context(), c.Target, o)
	if err != nil {
		return err
	}
	if !out.Deleted || c.Resource.ReturnDeletedObject {
		return h.writeOutcome(c, &v, out)
	}
	h.writeStatus(c.w, c.r, v.media, http.StatusOK, success(&metav1.StatusDetails{
		Name: c.Name, Group: c.Version.Group, Kind: c.Resource.Name, UID: out.Object.GetUID(),
	}))
	return nil
}

func (h *Handler) deleteCollection(c *call) error {
	v, err := h.view(c, offerObject)
	if err != nil {
		return err
	}
	o, err := c.listOptions()
	if err != nil {
		return err
	}
	selection, err := c.selection(o)
	if err != nil {
		return err
	}
	read, err := listRead(o)
	if err != nil {
		return err
	}
	options, err := c.deleteOptions()
	if err != nil {
		return err
	}
	items, revision, err := h.Registry.DeleteCollection(c.r.Context(), c.Target,
		registry.ListOptions{Selection: selection, Read: read, Limit: max(o.Limit, 0)}, options)
	if err != nil {
		return err
	}
	return h.writeList(c.w, &v, metav1.ListMeta{ResourceVersion: fmt.Sprint(revision)}, stored(items))
}
