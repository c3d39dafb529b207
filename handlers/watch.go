package handlers

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/gorilla/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/internal/features"
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
	clearDeadlines(c.w)
	opts.Objects, opts.IsKept = c.codec.ObjectsForSelection(c.Target), c.codec.IsKept
	ctx, cancel := context.WithDeadline(c.r.Context(), opts.Deadline)
	defer cancel()
	defer h.shutdown.endWatch(ctx, cancel)()
	frames := representation.NewHTTPFrames(c.w, h.RequestTimeout, opts.InitialEventsEnd && h.Gates.Enabled(features.WatchListCompression))
	if websocket.IsWebSocketUpgrade(c.r) {
		frames = representation.NewWebSocketFrames(c.w, c.r, h.RequestTimeout, v.Framing(), cancel)
	}
	if opts.Shard != nil {
		opts.Shard = h.metrics.countShard(c.info, opts.Shard)
	}
	s := representation.NewEventStream(frames, &v, c.Target, h.metrics.events(c.info))
	if err := h.Registry.AwaitConverted(c.r.Context(), c.Target, opts); err != nil {
		if !apierrors.IsTimeout(err) {
			return err
		}
		h.fail(c, s, err)
		return nil
	}
	c.viewWatch(&opts)
	watcher, err := h.Registry.Watch(ctx, c.Target, opts)
	if watcher != nil {
		defer watcher.Stop()
		c.broken = h.breakWatch(ctx, watcher)
	}
	reported := apierrors.IsResourceExpired(err) || apierrors.IsTimeout(err) // in the stream, as in kube-apiserver
	if fault := v.Fault(); fault != nil && (err == nil || reported || ctx.Err() != nil) {
		return fault
	}
	switch {
	case err != nil && ctx.Err() != nil && c.r.Context().Err() == nil && o.TimeoutSeconds != nil:
		h.serveNothing(c, s, time.Duration(max(*o.TimeoutSeconds, 0))*time.Second)
		return nil
	case reported:
		h.fail(c, s, err)
		return nil
	case err != nil && request.From(ctx).Running.EndedBy() == nil:
		return err
	}
	defer h.metrics.countLongRunning(labelWatch, c.info)()
	defer h.countWatch(c, o)()
	if opts.Shard != nil {
		defer h.metrics.countShardedWatch(c.info)()
	}
	if err := s.Begin(); err != nil {
		h.responder.RequestLogger(c.r).Debug("watch did not begin", "error", err)
		return nil
	}
	defer s.End()
	if err != nil {
		h.endedByFault(c, s, recordWatch(c.r.Context()))
		return nil
	}
	var initialSent func()
	if opts.InitialEventsEnd {
		began := time.Now()
		initialSent = func() {
			h.metrics.sizes.watchLists.WithLabelValues(c.info.Group, c.info.Version, c.info.Resource,
				scopeLabel(c.info)).Observe(time.Since(began).Seconds())
		}
	}
	h.follow(ctx, c, watcher, s, initialSent)
	return nil
}

// fail serves a watch that is only an error.
func (h *Handler) fail(c *call, s *representation.EventStream, err error) {
	status := h.responder.Status(c.r, err)
	recordWatch(c.r.Context()).end(status.Message)
	if s.Begin() != nil {
		return
	}
	defer s.End()
	s.Fail(status)
}

// serveNothing serves a watch whose time is over before it can begin, as one of a version in the future. As in
// kube-apiserver, the response then begins, and lasts for the timeout.
func (h *Handler) serveNothing(c *call, s *representation.EventStream, timeout time.Duration) {
	if s.Begin() != nil {
		return
	}
	defer s.End()
	ctx, cancel := context.WithTimeout(c.r.Context(), timeout)
	defer cancel()
	defer h.shutdown.endWatch(ctx, cancel)()
	<-ctx.Done()
}

// follow sends the watcher's events to the client until the watch ends. It calls initialSent, unless it is nil, when the initial events are
// sent.
func (h *Handler) follow(ctx context.Context, c *call, watcher *storage.Watcher, s *representation.EventStream, initialSent func()) {
	var pace pace
	defer pace.stop()
	counts := recordWatch(c.r.Context())
	initialEventsSent := request.From(c.r.Context()).InitialEventsSent
	for {
		if initialEventsSent != nil && watcher.InitialSent() {
			initialEventsSent()
			initialEventsSent = nil
		}
		if initialSent != nil && watcher.InitialSent() {
			initialSent()
			initialSent = nil
		}
		events, err := watcher.Next(ctx)
		if err != nil {
			switch {
			case h.endedByFault(c, s, counts):
			case ctx.Err() != nil, errors.Is(err, io.EOF):
			case errors.Is(err, storage.ErrClosed), errors.Is(err, storage.ErrRemoved):
			case errors.Is(err, storage.ErrSlow):
				counts.end("the client was too slow")
				// No error event: the client can continue from the last event that it got,
				// and need not list again.
				h.responder.RequestLogger(c.r).Info("watch ended: the client is too slow")
			default:
				status := h.watchStatus(c, err)
				counts.end(status.Message)
				s.Fail(status)
			}
			return
		}
		events, goesOn := c.broken.next(ctx, events)
		err = sendConverted(ctx, s, events)
		counts.add(events)
		var conversionErr *representation.ConversionError
		if errors.As(err, &conversionErr) && ctx.Err() == nil {
			status := h.watchStatus(c, conversionErr.Err)
			counts.end(status.Message)
			s.Fail(status)
		}
		if err != nil {
			h.responder.RequestLogger(c.r).Debug("watch ended", "error", err)
			return
		}
		if !goesOn {
			h.endedByFault(c, s, counts)
			return
		}
		pace.rest(ctx)
	}
}

// conversionRetry is the interval at which a watch has events converted again.
const conversionRetry = time.Second

// sendConverted sends events. As in kube-apiserver, a watch stands still where a conversion fails, and goes on when it succeeds.
func sendConverted(ctx context.Context, s *representation.EventStream, events []storage.Event) error {
	for {
		err := s.Send(ctx, events)
		var conversionErr *representation.ConversionError
		var unconverted *registry.UnconvertedError
		if !errors.As(err, &conversionErr) || !errors.As(conversionErr.Err, &unconverted) {
			return err
		}
		select {
		case <-time.After(conversionRetry):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watchStatus returns the Status of an error that ends a watch. A failed conversion ends it with
// the error of the webhook, since the next watch may succeed.
func (h *Handler) watchStatus(c *call, err error) *metav1.Status {
	if unconverted := (*registry.UnconvertedError)(nil); errors.As(err, &unconverted) {
		err = unconverted.Err
	}
	return h.responder.Status(c.r, h.Registry.StatusError(c.Target, err))
}
