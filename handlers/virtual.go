package handlers

import (
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
)

// virtualList is the list of a resource that is computed.
type virtualList struct {
	Kind       string            `json:"kind"`
	APIVersion string            `json:"apiVersion"`
	Metadata   metav1.ListMeta   `json:"metadata"`
	Items      []json.RawMessage `json:"items"`
}

// serveVirtual answers for a resource that is not stored.
func (h *Handler) serveVirtual(c *call) error {
	m, err := negotiate(c.r, offerObject)
	if err != nil {
		return err
	}
	switch c.info.Verb {
	case api.VerbGet:
		obj, err := h.Registry.VirtualGet(c.r.Context(), c.Target)
		if err != nil {
			return err
		}
		return h.writeObject(c.w, m, http.StatusOK, c.codec, obj)
	case api.VerbList:
		return h.listVirtual(c, m)
	case api.VerbCreate:
		return h.createVirtual(c, m)
	}
	return errMethod()
}

func (h *Handler) listVirtual(c *call, m media) error {
	objects, err := h.Registry.VirtualList(c.r.Context(), c.Target)
	if err != nil {
		return err
	}
	list := virtualList{Kind: c.codec.gvk.Kind + "List", APIVersion: c.Version.String(), Items: []json.RawMessage{}}
	for _, obj := range objects {
		data, err := c.codec.encodeJSON(obj)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, append([]byte{'{'}, c.codec.listForm(data)...))
	}
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if m.format == formatProtobuf {
		m.format = formatJSON
	}
	return h.writeJSON(c.w, m, http.StatusOK, data)
}

func (h *Handler) createVirtual(c *call, m media) error {
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
	if err := h.Registry.VirtualCreate(c.r.Context(), c.Target, obj, o.WriteOptions); err != nil {
		return err
	}
	h.writeStatus(c.w, c.r, m, http.StatusCreated, success(nil))
	return nil
}
