package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"
)

// Watch begins to watch; the watch ends when ctx is done, when the deadline is
// reached or with Stop. A CompactedError says that the changes after
// o.Revision are not all there any more.
func (c *Collection) Watch(ctx context.Context, o WatchOptions) (*Watcher, error) {
	if o.Prefix != "" && strings.IndexByte(o.Prefix, '/') != len(o.Prefix)-1 {
		return nil, fmt.Errorf("storage: cannot watch the prefix %q, it must be one name and a slash", o.Prefix)
	}
	if o.Revision > 0 {
		return c.watchFrom(ctx, &o)
	}
	if err := c.fresh(ctx, o.Read); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// What was applied is taken before the state is looked at, as in latest;
	// nothing can come in between while the lock is held.
	rev := c.store.applied.current()
	if err := c.watchable(); err != nil {
		return nil, err
	}
	w := newWatcher(c, o, max(rev, c.working.rev))
	if o.Initial {
		w.initial = c.current.Load()
	}
	c.begin(ctx, w)
	return w, nil
}

// watchFrom begins with the changes after o.Revision. Those from before the
// window are read from etcd's own history and put into the window, so that all
// who ask for about the same have the use of it.
func (c *Collection) watchFrom(ctx context.Context, o *WatchOptions) (*Watcher, error) {
	if oldest := max(c.oldest, c.store.oldest.Load()); o.Revision < oldest {
		return nil, &CompactedError{Wanted: o.Revision, Compacted: oldest}
	}
	if w, _, err := c.tryWatch(ctx, o, o.Revision, nil); w != nil || err != nil {
		return w, err
	}
	c.extend.Lock()
	defer c.extend.Unlock()
	var older []*transition
	for from := o.Revision; ; {
		w, since, err := c.tryWatch(ctx, o, from, older)
		if w != nil || err != nil {
			return w, err
		}
		more, err := c.history(ctx, from, since)
		if err != nil {
			return nil, err
		}
		older, from = append(older, more...), since
	}
}

// tryWatch begins the watch if the window, together with older, which are the
// changes after o.Revision up to from, reaches back far enough. If not, it
// returns where the window begins.
func (c *Collection) tryWatch(ctx context.Context, o *WatchOptions, from int64, older []*transition) (*Watcher, int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.watchable(); err != nil {
		return nil, 0, err
	}
	since := c.window.since
	if from < since {
		return nil, since, nil
	}
	if from == since && from > o.Revision {
		c.window.extend(o.Revision, older, c.store.opts.Now())
	}
	w := newWatcher(c, *o, o.Revision)
	w.backlog = c.window.after(o.Revision)
	c.begin(ctx, w)
	return w, since, nil
}

// watchable tells why the collection cannot be watched; c.mu is held.
func (c *Collection) watchable() error {
	switch {
	case c.ended != nil:
		return c.ended
	case c.working == nil:
		return fmt.Errorf("%w: %s is not loaded", ErrUnavailable, c.kind().Prefix)
	}
	return nil
}

// begin lets the watcher have what is applied from now on; c.mu is held.
func (c *Collection) begin(ctx context.Context, w *Watcher) {
	c.fanout.add(w)
	w.unhook = context.AfterFunc(ctx, w.Stop)
}

// endWatches ends the watches that there are and refuses further ones.
func (c *Collection) endWatches(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = err
	c.fanout.end(err)
}

// history reads the changes after rev and up to end from etcd.
func (c *Collection) history(ctx context.Context, rev, end int64) ([]*transition, error) {
	ctx, cancel := context.WithTimeout(ctx, historyTimeout)
	defer cancel()
	// Metadata of its own gives the watch a stream of its own, so that the
	// progress asked for is that of this watch.
	ctx = metadata.AppendToOutgoingContext(ctx, "history", fmt.Sprint(c.kind().Prefix, rev))
	watch := c.store.client.Watch(ctx, c.prefix, clientv3.WithPrefix(), clientv3.WithPrevKV(),
		clientv3.WithRev(rev+1), clientv3.WithCreatedNotify())
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	h := past{of: c, last: map[string]*Item{}}
	for {
		select {
		case resp, ok := <-watch:
			if !ok {
				return nil, contextOr(ctx, ErrUnavailable)
			}
			if resp.CompactRevision > 0 || errors.Is(resp.Err(), rpctypes.ErrCompacted) {
				return nil, &CompactedError{Wanted: rev, Compacted: resp.CompactRevision}
			}
			if err := resp.Err(); err != nil {
				return nil, c.store.readError(err)
			}
			for _, e := range resp.Events {
				if e.Kv.ModRevision > end {
					return h.changes, nil
				}
				h.add(e)
			}
			if len(resp.Events) > 0 && resp.Events[len(resp.Events)-1].Kv.ModRevision >= end ||
				resp.IsProgressNotify() && resp.Header.Revision >= end {
				return h.changes, nil
			}
			if !resp.Created {
				continue
			}
		case <-tick.C:
		}
		if err := c.store.client.RequestProgress(ctx); err != nil {
			return nil, c.storedError(ctx, err, rev)
		}
	}
}

// historyTimeout bounds the reading of history for a watch.
const historyTimeout = 30 * time.Second

// past makes transitions of etcd's events.
type past struct {
	of      *Collection
	last    map[string]*Item // of each key
	changes []*transition
}

func (h *past) add(e *clientv3.Event) {
	key := strings.TrimPrefix(string(e.Kv.Key), h.of.prefix)
	rev := e.Kv.ModRevision
	prev := h.last[key]
	if prev == nil && e.PrevKv != nil {
		prev = h.of.item(key, (*mvccpb.KeyValue)(e.PrevKv))
	}
	t := &transition{rev: rev, prev: prev}
	if e.Type == clientv3.EventTypeDelete {
		delete(h.last, key)
		if prev == nil {
			return
		}
		t.item, t.deleted = prev.at(rev), true
	} else {
		t.item = h.of.item(key, e.Kv)
		h.last[key] = t.item
	}
	h.changes = append(h.changes, t)
}

// indexed tells whether a field is one of those with an index.
func (c *Collection) indexed(field string) bool { return slices.Contains(c.kind().Index, field) }
