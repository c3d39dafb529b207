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

	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

func (h *Handler) watch(c *call) error {
	v, err := h.view(c, offerWatch)
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
	if err := c.skipBody(h.RequestTimeout); err != nil {
		return err
	}
	unbound(c.w)
	opts.Objects = h.selectable(c)
	ctx, cancel := context.WithDeadline(c.r.Context(), opts.Deadline)
	defer cancel()
	defer context.AfterFunc(h.ending, cancel)()
	s := &eventStream{frames: newHTTPFrames(c.w, h.RequestTimeout), view: &v}
	if websocket.IsWebSocketUpgrade(c.r) {
		s.frames = newWebSocketFrames(c.w, c.r, h.RequestTimeout, v.format != formatProtobuf, cancel)
	}
	if c.Resource.Storage.ConvertsRemotely {
		s.subject = func(item *storage.Item) (subject, error) { return h.subject(ctx, c.Target, c.codec, item) }
	}
	watcher, err := h.Registry.Watch(ctx, c.Target, opts)
	switch {
	case apierrors.IsResourceExpired(err), apierrors.IsTimeout(err):
		// As in kube-apiserver, a revision that there is no more, or not yet, is an
		// error in the stream.
		if err := s.begin(v.streamContentType()); err != nil {
			return nil
		}
		defer s.end()
		s.fail(h.statusOf(c.r, err))
		return nil
	case err != nil:
		return err
	}
	defer watcher.Stop()
	defer h.metrics.lasting(labelWatch, c.info)()
	defer h.watching(c, o)()
	if err := s.begin(v.streamContentType()); err != nil {
		h.logger(c.r).Debug("watch did not begin", "error", err)
		return nil
	}
	defer s.end()
	h.follow(ctx, c, watcher, s)
	return nil
}

// follow sends the client what the watcher tells, until one of them has enough.
func (h *Handler) follow(ctx context.Context, c *call, watcher *storage.Watcher, s *eventStream) {
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
				h.logger(c.r).Info("watch ended: the client is too slow")
			default:
				s.fail(h.statusOf(c.r, h.Registry.StatusError(c.Target, err)))
			}
			return
		}
		if c.Resource.Storage.ConvertsRemotely {
			err = h.convertAll(ctx, c, events)
		}
		if err == nil {
			err = s.send(events, h.Now())
		}
		var unshown *unshownError
		if errors.As(err, &unshown) && ctx.Err() == nil {
			s.fail(h.statusOf(c.r, h.Registry.StatusError(c.Target, unshown.error)))
		}
		if err != nil {
			h.logger(c.r).Debug("watch ended", "error", err)
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
