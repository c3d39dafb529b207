package handlers

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// brokenWatch is a watch that faults may meet. A nil brokenWatch is a watch of a server without a lab.
type brokenWatch struct {
	running *request.Running
	sent    int64
	// closesAfter is the number of sent events after which each fault that closes the watch does so.
	closesAfter map[*request.Fault]int64
}

// viewWatch changes the options of a watch that is late, or whose beginning is a state that may be late. As in kube-apiserver, a watch
// without a resourceVersion and without sendInitialEvents begins with the state of the watch cache, whatever that is.
func (c *call) viewWatch(o *registry.WatchOptions) {
	v := request.From(c.r.Context()).View
	if v == nil {
		return
	}
	o.View = v.(*storage.View)
	if o.Initial && !o.InitialEventsEnd && o.Read.Match == storage.Consistent && c.info.Query.Get("sendInitialEvents") == "" {
		o.Read.Match = storage.Any
	}
}

// breakWatch returns the watch as faults meet it from now on.
func (h *Handler) breakWatch(ctx context.Context, w *storage.Watcher) *brokenWatch {
	running := request.From(ctx).Running
	if running == nil {
		return nil
	}
	running.Observe(func(faults []*request.Fault) {
		var view *storage.View
		for _, f := range faults {
			if f.View != nil {
				view = f.View.(*storage.View)
			}
		}
		w.SetView(view)
	})
	return &brokenWatch{running: running, closesAfter: map[*request.Fault]int64{}}
}

// endedByFault ends the stream of a watch that a fault has ended, and reports whether one has. A response that is to be cut stays as it is.
func (h *Handler) endedByFault(c *call, s *representation.EventStream, counts *watchCounts) bool {
	by := request.From(c.r.Context()).Running.EndedBy()
	if by == nil {
		return false
	}
	counts.end("the fault " + by.Name)
	err := by.Error
	if by.Watch != nil && by.Watch.Expires {
		err = apierrors.NewResourceExpired("The resourceVersion for the provided watch is too old.")
	}
	if apierrors.IsResourceExpired(err) {
		s.Fail(h.responder.Status(c.r, err))
	}
	return true
}

// next returns the events to send, late, and whether the watch goes on after them.
func (b *brokenWatch) next(ctx context.Context, events []storage.Event) ([]storage.Event, bool) {
	if b == nil {
		return events, true
	}
	faults, ok := b.hold(ctx)
	if !ok {
		return nil, false
	}
	goesOn := true
	for _, f := range faults {
		switch w := f.Watch; {
		case w == nil:
		case w.NoBookmarks:
			events = slices.DeleteFunc(events, func(e storage.Event) bool { return e.Type == storage.Bookmark && !e.End })
		case w.Closes:
			if b.closesAfter[f] == 0 {
				b.closesAfter[f] = b.sent + w.CloseAfter
			}
			if left := b.closesAfter[f] - b.sent; int64(len(events)) >= left {
				events, goesOn = events[:max(left, 0)], false
			}
		}
	}
	b.sent += int64(len(events))
	return events, goesOn
}

// hold waits until no fault holds back what the watch is to send now. It returns the faults, and whether the watch goes on.
func (b *brokenWatch) hold(ctx context.Context) ([]*request.Fault, bool) {
	began := time.Now()
	for {
		faults, changed := b.running.Faults()
		due := began
		for _, f := range faults {
			if f.Watch == nil {
				continue
			}
			for _, at := range []time.Time{f.Since.Add(f.Watch.Freeze), began.Add(f.Watch.Delay)} {
				if at.After(due) {
					due = at
				}
			}
		}
		wait := time.Until(due)
		if due.Equal(began) || wait <= 0 {
			return faults, ctx.Err() == nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-changed:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return nil, false
		}
	}
}
