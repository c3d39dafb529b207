package handlers

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"github.com/gorilla/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

func (h *Handler) watch(c *call) error {
	v, err := c.codec.View(c.r, c.Resource, representation.OfferWatch)
	if err != nil {
		return err
	}
	o, err := c.listOptions()
	if err != nil {
		return err
	}
	opts, err := h.watchOptions(c, o)
	if err != nil {
		return err
	}
	if err := representation.DiscardBody(c.w, c.r, h.RequestTimeout); err != nil {
		return err
	}
	unbound(c.w)
	opts.Objects = c.codec.SelectionObjects(c.Target)
	ctx, cancel := context.WithDeadline(c.r.Context(), opts.Deadline)
	defer cancel()
	defer context.AfterFunc(h.ending, cancel)()
	frames := representation.NewHTTPFrames(c.w, h.RequestTimeout)
	if websocket.IsWebSocketUpgrade(c.r) {
		frames = representation.NewWebSocketFrames(c.w, c.r, h.RequestTimeout, v.Format != representation.FormatProtobuf, cancel)
	}
	s := representation.NewEventStream(frames, &v, c.Target)
	watcher, err := h.Registry.Watch(ctx, c.Target, opts)
	switch {
	case apierrors.IsResourceExpired(err), apierrors.IsTimeout(err):
		// As in kube-apiserver, a revision that there is no more, or not yet, is an
		// error in the stream.
		if err := s.Begin(); err != nil {
			return nil
		}
		defer s.End()
		s.Fail(h.responder.Status(c.r, err))
		return nil
	case err != nil:
		return err
	}
	defer watcher.Stop()
	defer h.metrics.lasting(labelWatch, c.info)()
	defer h.watching(c, o)()
	if err := s.Begin(); err != nil {
		h.responder.RequestLogger(c.r).Debug("watch did not begin", "error", err)
		return nil
	}
	defer s.End()
	h.follow(ctx, c, watcher, s)
	return nil
}

// follow sends the client what the watcher tells, until one of them has enough.
func (h *Handler) follow(ctx context.Context, c *call, watcher *storage.Watcher, s *representation.EventStream) {
	var pace pace
	defer pace.stop()
	begun := request.From(c.r.Context()).InitialEventsSent
	for {
		if begun != nil && watcher.InitialSent() {
			begun()
			begun = nil
		}
		events, err := watcher.Next(ctx)
		if err != nil {
			switch {
			case ctx.Err() != nil, errors.Is(err, io.EOF):
			case errors.Is(err, storage.ErrClosed): // the kind is no more
			case errors.Is(err, storage.ErrSlow):
				// The client can go on from the last event it got, and need not list
				// again as it would after an error.
				h.responder.RequestLogger(c.r).Info("watch ended: the client is too slow")
			default:
				s.Fail(h.responder.Status(c.r, h.Registry.StatusError(c.Target, err)))
			}
			return
		}
		err = s.Send(ctx, events)
		var unshown *representation.ConversionError
		if errors.As(err, &unshown) && ctx.Err() == nil {
			s.Fail(h.responder.Status(c.r, h.Registry.StatusError(c.Target, unshown.Err)))
		}
		if err != nil {
			h.responder.RequestLogger(c.r).Debug("watch ended", "error", err)
			return
		}
		pace.rest(ctx) // while more may come
	}
}

// watchOptions is the table of where a watch begins.
func (h *Handler) watchOptions(c *call, o *internalversion.ListOptions) (registry.WatchOptions, error) {
	var w registry.WatchOptions
	var err error
	if w.Selection, err = c.selection(o); err != nil {
		return w, err
	}
	n, err := parseResourceVersion(o.ResourceVersion)
	if err != nil {
		return w, errVersion(err)
	}
	switch {
	case o.SendInitialEvents != nil && *o.SendInitialEvents:
		w.Initial, w.InitialEventsEnd, w.Verify = true, o.AllowWatchBookmarks, true
		if n > 0 {
			w.Read = storage.Read{Match: storage.NotOlderThan, Revision: n}
		} else if o.ResourceVersion == "0" {
			w.Read.Match = storage.Any
		}
	case n > 0:
		w.Revision = n
	case o.SendInitialEvents != nil:
		// Neither a state nor a revision to begin with: from now on.
	default:
		w.Initial = true
		if o.ResourceVersion == "0" {
			w.Read.Match = storage.Any
		}
	}
	w.Bookmarks = o.AllowWatchBookmarks
	w.Deadline = time.Now().Add(h.watchTimeout(o.TimeoutSeconds))
	return w, nil
}

// watchTimeout is what the client asks for or, to spread the load of clients
// that come again, a random time of at least MinRequestTimeout.
func (h *Handler) watchTimeout(seconds *int64) time.Duration {
	if seconds != nil && *seconds > 0 {
		return time.Duration(min(*seconds, int64(24*time.Hour/time.Second))) * time.Second
	}
	return time.Duration(float64(h.MinRequestTimeout) * (1 + rand.Float64()))
}
