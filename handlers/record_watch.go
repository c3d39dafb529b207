package handlers

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/monotonic"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// watchCounts counts what a watch sends, for the account of the request. A nil watchCounts counts nothing.
type watchCounts struct {
	events, bookmarks atomic.Int64
	lag               atomic.Int64 // the longest since the last reading, in nanoseconds
	ended             atomic.Pointer[string]
}

// recordWatch returns the counts of the watch of ctx, nil if the server has no lab.
func recordWatch(ctx context.Context) *watchCounts {
	account := request.From(ctx).Account
	if account == nil {
		return nil
	}
	c := &watchCounts{}
	account.FollowWatch(c.read)
	return c
}

// add counts sent events.
func (c *watchCounts) add(events []storage.Event) {
	if c == nil {
		return
	}
	now := monotonic.Now()
	for i := range events {
		if events[i].Type == storage.Bookmark {
			c.bookmarks.Add(1)
			continue
		}
		c.events.Add(1)
		if received := events[i].Received; received > 0 && now-received > c.lag.Load() {
			c.lag.Store(now - received) // the only writer but for read
		}
	}
}

// end records why the watch ended.
func (c *watchCounts) end(why string) {
	if c != nil {
		c.ended.Store(&why)
	}
}

// read returns the counts, and begins anew to look for the longest lag.
func (c *watchCounts) read() request.WatchCounts {
	out := request.WatchCounts{Events: c.events.Load(), Bookmarks: c.bookmarks.Load(), Lag: time.Duration(c.lag.Swap(0))}
	if why := c.ended.Load(); why != nil {
		out.Ended = *why
	}
	return out
}
