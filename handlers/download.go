package handlers

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/storage"
)

// download sends a file that belongs to an object. The client decides how long that takes.
func (h *Handler) download(c *call, file *api.Download) error {
	if c.info.Verb != api.VerbGet {
		return representation.ErrMethodNotAllowed()
	}
	object := c.Target
	object.Sub = nil
	item, err := h.Registry.Get(c.r.Context(), object, storage.Read{})
	if err != nil {
		return err
	}
	obj, err := item.Object()
	if err != nil {
		return err
	}
	format, contentType := c.info.Query.Get("format"), file.ContentType
	if format != "" {
		var ok bool
		if contentType, ok = file.Formats[format]; !ok {
			return apierrors.NewBadRequest(fmt.Sprintf("format: unknown value %q; the formats are %q", format, slices.Sorted(maps.Keys(file.Formats))))
		}
	}
	clearDeadlines(c.w)
	w := &downloadWriter{ResponseWriter: c.w, contentType: contentType}
	if err := file.Write(c.r.Context(), obj, format, w); err != nil {
		if !w.begun {
			return err
		}
		h.responder.RequestLogger(c.r).Warn("download ended", "error", err)
		panic(http.ErrAbortHandler) // the client must not take the part for the file
	}
	return nil
}

// downloadWriter sets the media type when the response begins.
type downloadWriter struct {
	http.ResponseWriter
	contentType string
	begun       bool
}

// Write implements io.Writer.
func (w *downloadWriter) Write(b []byte) (int, error) {
	if !w.begun {
		w.begun = true
		w.Header().Set("Content-Type", w.contentType)
	}
	return w.ResponseWriter.Write(b)
}
