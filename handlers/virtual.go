package handlers

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
)

// serveVirtual answers for a resource that is not stored.
func (h *Handler) serveVirtual(c *call) error {
	offered := offerObject
	if c.info.Verb == api.VerbCreate {
		offered = offerAnswer
	}
	v, err := h.view(c, offered)
	if err != nil {
		return err
	}
	switch c.info.Verb {
	case api.VerbGet:
		obj, err := h.Registry.VirtualGet(c.r.Context(), c.Target)
		if err != nil {
			return err
		}
		return h.writeOne(c.w, &v, http.StatusOK, bare{obj}, obj.GetResourceVersion())
	case api.VerbList:
		return h.listVirtual(c, &v)
	case api.VerbCreate:
		return h.createVirtual(c, &v)
	}
	return errMethod()
}

func (h *Handler) listVirtual(c *call, v *view) error {
	objects, err := h.Registry.VirtualList(c.r.Context(), c.Target)
	if err != nil {
		return err
	}
	return h.writeList(c.w, v, metav1.ListMeta{}, computed(objects))
}

func (h *Handler) createVirtual(c *call, v *view) error {
	obj, o, err := h.sent(c, "CreateOptions")
	if err != nil {
		return err
	}
	answer, err := h.Registry.VirtualCreate(c.r.Context(), c.Target, obj, o.WriteOptions)
	switch {
	case err != nil:
		return err
	case answer != nil:
		return h.writeOne(c.w, v, http.StatusCreated, bare{answer}, answer.GetResourceVersion())
	}
	h.writeStatus(c.w, c.r, v.media, http.StatusCreated, created())
	return nil
}
