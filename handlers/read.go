package handlers

import (
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

func (h *Handler) get(c *call) error {
	v, err := c.codec.View(c.r, c.Resource, c.offer)
	if err != nil {
		return err
	}
	var read storage.Read
	if c.info.Query != nil {
		if read, err = c.readOfGet(); err != nil {
			return err
		}
		read = c.viewed(read)
	}
	c.span.Event("About to Get from storage")
	item, err := h.Registry.Get(c.r.Context(), c.Target, read)
	if err != nil {
		return err
	}
	if view, ok := c.Sub.(*api.View); ok {
		return h.writeView(c, view, &v, http.StatusOK, item)
	}
	if c.Resource.Detail != nil {
		return c.writeDetail(&v, item)
	}
	encodable := c.codec.Converted
	if read != (storage.Read{}) { // from the cache, whose objects were converted before
		encodable = c.codec.Encodable
	}
	s, err := encodable(c.r.Context(), c.Target, item)
	if err != nil {
		return err
	}
	return v.WriteObject(c.w, http.StatusOK, s)
}

// writeDetail sends an item with what only a get of it shows.
func (c *call) writeDetail(v *representation.View, item *storage.Item) error {
	obj, err := item.Object()
	if err == nil {
		obj, err = c.Resource.Detail(c.r.Context(), obj)
	}
	if err != nil {
		return err
	}
	return v.WriteObject(c.w, http.StatusOK, representation.Unstored{Object: obj})
}

// writeView sends an item as an object of the kind of a view.
func (h *Handler) writeView(c *call, view *api.View, v *representation.View, code int, item *storage.Item) error {
	all, err := c.Objects(c.r.Context(), item)
	if err != nil {
		return err
	}
	obj := all[0]
	if view.Unreadable != nil {
		if err := view.Unreadable(obj); err != nil {
			return apierrors.NewInternalError(err)
		}
	}
	if obj, err = view.View(obj); err != nil {
		return err
	}
	return v.WriteObject(c.w, code, representation.Unstored{Object: obj})
}

func (h *Handler) list(c *call) error {
	v, err := c.codec.View(c.r, c.Resource, representation.OfferList)
	if err != nil {
		return err
	}
	opts, token, err := c.page()
	if err != nil {
		return err
	}
	opts.Objects = c.codec.ObjectsForSelection(c.Target)
	opts.Verify, opts.Read = true, c.viewed(opts.Read)
	list, err := h.Registry.List(c.r.Context(), c.Target, opts)
	if err != nil {
		return errPage(token, h.Registry.ListConverted(c.r.Context(), c.Target, opts, err))
	}
	if c.span != nil {
		c.span.Event("Listed items from cache", attribute.Int("count", len(list.Items)))
	}
	items, err := v.InTableOrder(list.Items)
	if err == nil && c.Resource.Storage.ConvertsRemotely {
		items, err = h.convertedList(c, opts, list)
	}
	if err != nil {
		return err
	}
	meta := c.listMeta(list)
	if opts.Shard != nil {
		meta.ShardInfo = &metav1.ShardInfo{Selector: opts.Shard.String()}
	}
	return v.WriteList(c.w, meta, items)
}

// convertedList returns the objects of a list that a webhook converts.
func (h *Handler) convertedList(c *call, opts registry.ListOptions, list *storage.List) (representation.Encodables, error) {
	items, err := c.codec.Encodables(c.r.Context(), c.Target, list.Items)
	if err != nil {
		return nil, h.Registry.ListConverted(c.r.Context(), c.Target, opts, err)
	}
	if list.Next == "" {
		h.Registry.NoteConverted(c.Target)
	}
	return items, nil
}

// listMeta returns the metadata of a list response.
func (c *call) listMeta(list *storage.List) metav1.ListMeta {
	meta := metav1.ListMeta{ResourceVersion: strconv.FormatInt(list.Revision, 10)}
	if list.Next != "" {
		meta.Continue = tokenAfter(list.Next, c.keyPrefix(), list.Revision, !c.isUncached())
		if list.Remaining >= 0 {
			meta.RemainingItemCount = &list.Remaining
		}
	}
	return meta
}
