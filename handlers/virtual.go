package handlers

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/registry"
)

// serveVirtual serves a resource that is not stored.
func (h *Handler) serveVirtual(c *call) error {
	offer := representation.OfferObject
	switch c.info.Verb {
	case api.VerbCreate:
		offer = representation.OfferReview
	case api.VerbList:
		offer = representation.OfferList
	}
	v, err := c.codec.View(c.r, c.Resource, offer)
	if err != nil {
		return err
	}
	switch c.info.Verb {
	case api.VerbGet:
		obj, err := h.Registry.VirtualGet(c.r.Context(), c.Target)
		if err != nil {
			return err
		}
		return v.WriteObject(c.w, http.StatusOK, representation.Unstored{Object: obj})
	case api.VerbList:
		return h.listVirtual(c, &v)
	case api.VerbCreate:
		return h.postUnstored(c, &v, h.Registry.VirtualCreate)
	}
	return representation.ErrMethodNotAllowed()
}

func (h *Handler) listVirtual(c *call, v *representation.View) error {
	o, err := c.listOptions()
	if err != nil {
		return err
	}
	selection, err := c.selection(o)
	if err != nil {
		return err
	}
	objects, err := h.Registry.VirtualList(c.r.Context(), c.Target, registry.ListOptions{Selection: selection, Limit: o.Limit})
	if err != nil {
		return err
	}
	return v.WriteList(c.w, metav1.ListMeta{}, representation.UnstoredList(objects))
}
