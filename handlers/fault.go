package handlers

import (
	"context"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// headerFault names the fault that was injected into a request.
const headerFault = "Lab-Fault"

// misbehave injects the fault of a request, if the lab has one.
func (h *Handler) misbehave(next http.HandlerFunc) http.HandlerFunc {
	if h.Faults == nil {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) {
		scope := request.From(r.Context())
		fault := h.Faults.For(r, scope)
		if fault == nil {
			next(w, r)
			return
		}
		w.Header().Set(headerFault, fault.Name)
		scope.Annotate("lab.miniapiserver.io/fault", fault.Name)
		if fault.Error != nil || fault.LosesRequest || fault.LosesResponse {
			scope.Account.Refuse(request.Refusal{By: request.RefusedByFault, Name: fault.Name})
		}
		switch {
		case fault.Error != nil:
			h.responder.WriteError(w, r, fault.Error)
			return
		case fault.LosesRequest:
			panic(http.ErrAbortHandler)
		case fault.LosesResponse:
			next(discardingWriter{http.Header{}}, r)
			panic(http.ErrAbortHandler)
		case fault.Before != nil:
			if err := fault.Before(r.Context()); err != nil {
				h.responder.WriteError(w, r, err)
				return
			}
		}
		scope.WatchFault = fault.Watch
		next(w, r)
	}
}

// discardingWriter takes a response that nobody gets.
type discardingWriter struct{ header http.Header }

// Header implements http.ResponseWriter.
func (w discardingWriter) Header() http.Header { return w.header }

// Write implements http.ResponseWriter.
func (discardingWriter) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements http.ResponseWriter.
func (discardingWriter) WriteHeader(int) {}

// brokenWatch is a watch to which a fault happens. A nil brokenWatch is an ordinary watch.
type brokenWatch struct {
	*request.WatchFault
	sent int64
}

// breakWatch returns what happens to the watch of a request. It changes the options for a watch without bookmarks.
func breakWatch(ctx context.Context, o *registry.WatchOptions) *brokenWatch {
	fault := request.From(ctx).WatchFault
	if fault == nil {
		return nil
	}
	if fault.NoBookmarks {
		o.Bookmarks = false
	}
	return &brokenWatch{WatchFault: fault}
}

// begin waits for the end of a freeze, and reports whether the watch goes on.
func (b *brokenWatch) begin(ctx context.Context, s *representation.EventStream, h *Handler, c *call) bool {
	if b == nil {
		return true
	}
	if b.Expires {
		s.Fail(h.responder.Status(c.r, apierrors.NewResourceExpired("The resourceVersion for the provided watch is too old.")))
		return false
	}
	return pause(ctx, b.Freeze) && !(b.Closes && b.CloseAfter == 0)
}

// next returns the events to send, late, and whether the watch goes on after them.
func (b *brokenWatch) next(ctx context.Context, events []storage.Event) ([]storage.Event, bool) {
	if b == nil {
		return events, true
	}
	if !pause(ctx, b.Delay) {
		return nil, false
	}
	if !b.Closes {
		return events, true
	}
	left := max(b.CloseAfter-b.sent, 0)
	events = events[:min(int64(len(events)), left)]
	b.sent += int64(len(events))
	return events, b.sent < b.CloseAfter
}

// pause waits, and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
