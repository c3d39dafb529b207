package registry

import (
	"context"
	"time"

	"github.com/miniapiserver/miniapiserver/storage"
)

// followRestartDelay is the delay before an ended watch is started again.
const followRestartDelay = 5 * time.Millisecond

// Follow calls handle with the events of a watch of t's collection, until ctx is done. A watch that cannot start or
// that is lost starts again. Follow calls begin at the start of each watch, before handle: the caller does not learn
// what changed between two watches, unless o asks for initial events.
func (r *Registry) Follow(ctx context.Context, t Target, o WatchOptions, begin func(), handle func([]storage.Event)) {
	for ctx.Err() == nil {
		r.followOnce(ctx, t, o, begin, handle)
		select {
		case <-ctx.Done():
		case <-time.After(followRestartDelay):
		}
	}
}

func (r *Registry) followOnce(ctx context.Context, t Target, o WatchOptions, begin func(), handle func([]storage.Event)) {
	w, err := r.Watch(ctx, t, o)
	if err != nil {
		return
	}
	defer w.Stop()
	begin()
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return
		}
		handle(events)
	}
}
