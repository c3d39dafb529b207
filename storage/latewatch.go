package storage

import (
	"context"
	"time"
)

// lateQueue is the maximum length of the queue of a watcher that sees the changes late.
const lateQueue = 1 << 16

// watchLate starts a watch with the state in a late view.
func (c *Collection) watchLate(ctx context.Context, v *View, o *WatchOptions) (*Watcher, error) {
	for {
		st, rev, err := c.viewedFor(ctx, v, o.Read)
		if err != nil {
			return nil, err
		}
		w, err := c.tryWatchLate(ctx, st, rev, o)
		if w != nil || err != nil {
			return w, err
		}
	}
}

// tryWatchLate starts the watch, unless the window does not reach back to rev any more.
func (c *Collection) tryWatchLate(ctx context.Context, st *collectionState, rev int64, o *WatchOptions) (*Watcher, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.watchable(); err != nil || rev < c.window.since {
		return nil, err
	}
	w := newWatcher(c, *o, rev)
	if o.Initial {
		w.initial = st
	}
	w.queue = c.window.after(rev)
	c.startWatch(ctx, w)
	return w, nil
}

// SetView has the reader see the changes from now on as late as a view has them; nil ends that.
func (w *Watcher) SetView(v *View) {
	w.view.Store(v)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.signalLocked()
}

// lateView returns the late view in which the reader sees the collection; nil if it sees it as it is.
func (w *Watcher) lateView() *View {
	v := w.view.Load()
	if v == nil && w.opts.Followed {
		v = w.collection.lag.Load()
	}
	if v.isLate() {
		return v
	}
	return nil
}

// take takes the changes from the queue that the reader may see. It returns them, and the revision up to which there are no others, which
// is applied if the queue is empty then.
func (w *Watcher) take(applied int64) ([]*transition, int64) {
	v := w.lateView()
	w.mu.Lock()
	defer w.mu.Unlock()
	batch, n := w.queue, len(w.queue)
	if v != nil && !w.ended {
		n = v.due(batch)
	}
	w.queue = append(w.spare[:0], batch[n:]...)
	if n == len(batch) {
		return batch, applied
	}
	applied = batch[n].rev - 1
	if wait := v.until(batch[n]); w.later == nil {
		w.later = time.AfterFunc(wait, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			if !w.ended {
				w.signalLocked()
			}
		})
	} else {
		w.later.Reset(wait)
	}
	clear(batch[n:])
	return batch[:n], applied
}
