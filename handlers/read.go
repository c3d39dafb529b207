package handlers

import (
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

func (h *Handler) get(c *call) error {
	v, err := h.view(c, offerObject)
	if err != nil {
		return err
	}
	read, err := getRead(c.r)
	if err != nil {
		return err
	}
	item, err := h.Registry.Get(c.r.Context(), c.Target, read)
	if err != nil {
		return err
	}
	return h.writeOne(c.w, &v, http.StatusOK, item, resourceVersion(item))
}

func (h *Handler) list(c *call) error {
	v, err := h.view(c, offerList)
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
	opts := registry.ListOptions{Selection: selection, Limit: max(o.Limit, 0)}
	token, err := parseContinue(o.Continue, o.ResourceVersion)
	switch {
	case err != nil:
		return err
	case token != nil:
		opts.Read, opts.After = token.read(), token.after()
	default:
		if opts.Read, err = listRead(o); err != nil {
			return err
		}
		if opts.Read.Match == storage.Any {
			opts.Limit = 0 // what the cache has anyway is not cut into pages
		}
	}
	list, err := h.Registry.List(c.r.Context(), c.Target, opts)
	switch {
	case token != nil && apierrors.IsResourceExpired(err):
		return errContinueExpired(token)
	case err != nil:
		return err
	}
	return h.writeList(c.w, &v, listMeta(list), stored(list.Items))
}

func listMeta(list *storage.List) metav1.ListMeta {
	meta := metav1.ListMeta{ResourceVersion: strconv.FormatInt(list.Revision, 10)}
	if list.Next != "" {
		meta.Continue = continueToken{Revision: list.Revision, Start: list.Next + "\x00"}.String()
		if list.Remaining >= 0 {
			meta.RemainingItemCount = &list.Remaining
		}
	}
	return meta
}

// resourceVersion is the revision of an item as clients see it.
func resourceVersion(item *storage.Item) string { return strconv.FormatInt(item.Revision(), 10) }
