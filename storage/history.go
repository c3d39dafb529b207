package storage

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// keptState is a state that is expected to be read again: one that a page was
// taken from.
type keptState struct {
	rev int64
	st  *state
}

// keep holds on to a state, in the place of the one that was kept longest.
func (c *Collection) keep(rev int64, st *state) {
	const most = 4
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.ContainsFunc(c.kept, func(k keptState) bool { return k.rev == rev }) {
		return
	}
	if len(c.kept) == most {
		c.kept = slices.Delete(c.kept, 0, 1)
	}
	c.kept = append(c.kept, keptState{rev, st})
}

// forget drops the states kept from before rev, which was compacted.
func (c *Collection) forget(rev int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = slices.DeleteFunc(c.kept, func(k keptState) bool { return k.rev < rev })
}

// stateAt returns the state as of an earlier revision: a kept one, or one made
// by taking back the changes in the window. It is nil when they do not reach
// back that far.
func (c *Collection) stateAt(rev int64) *state {
	c.mu.Lock()
	for _, k := range c.kept {
		if k.rev == rev {
			c.mu.Unlock()
			return k.st
		}
	}
	if rev < c.window.since {
		c.mu.Unlock()
		return nil
	}
	st := c.working.copy()
	changes := c.window.after(rev)
	c.mu.Unlock()
	for _, t := range slices.Backward(changes) {
		if t.prev != nil {
			st.set(t.prev)
		} else {
			st.remove(t.item.key)
		}
	}
	st.rev = rev
	c.keep(rev, st)
	return st
}

// getStored reads a key from etcd as of rev; 0 means now.
func (c *Collection) getStored(ctx context.Context, key string, rev int64) (*Item, error) {
	resp, err := c.store.client.Get(ctx, c.fullKey(key), clientv3.WithRev(rev))
	if err != nil {
		return nil, c.storedError(ctx, err, rev)
	}
	if len(resp.Kvs) == 0 {
		return nil, ErrNotFound
	}
	return c.item(key, resp.Kvs[0]), nil
}

// listStored reads a page from etcd as of rev; 0 means now.
func (c *Collection) listStored(ctx context.Context, o *ListOptions, rev int64) (*List, error) {
	start := o.Prefix
	if o.After != "" && o.After >= start {
		start = o.After + "\x00"
	}
	from, end := c.fullKey(start), clientv3.GetPrefixRangeEnd(c.fullKey(o.Prefix))
	if o.Key != "" {
		from, end = c.fullKey(o.Key), c.fullKey(o.Key)+"\x00"
	}
	plain := o.Filter == nil && o.Field == ""
	l := &List{Revision: rev}
	var bad corruption
	for {
		page := int64(loadPage)
		if plain && o.Limit > 0 {
			page = min(page, o.Limit-int64(len(l.Items)))
		}
		resp, err := c.store.client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(page), clientv3.WithRev(rev))
		if err != nil {
			return nil, c.storedError(ctx, err, rev)
		}
		if rev == 0 {
			rev, l.Revision = resp.Header.Revision, resp.Header.Revision
		}
		for n, kv := range resp.Kvs {
			i := c.item(strings.TrimPrefix(string(kv.Key), c.prefix), kv)
			from = string(kv.Key) + "\x00"
			if o.Verify && i.Corrupt() != nil && !bad.add(i) {
				return nil, bad.err()
			}
			if !o.keeps(i) {
				continue
			}
			l.Items = append(l.Items, i)
			if o.Limit > 0 && int64(len(l.Items)) == o.Limit {
				if left := resp.Count - int64(n) - 1; left > 0 {
					l.Next, l.Remaining = i.key, left
					if !plain {
						l.Remaining = -1
					}
				}
				return l, bad.err()
			}
		}
		if !resp.More || len(resp.Kvs) == 0 {
			return l, bad.err()
		}
	}
}

func (c *Collection) storedError(ctx context.Context, err error, rev int64) error {
	switch {
	case errors.Is(err, rpctypes.ErrCompacted):
		return &CompactedError{Wanted: rev, Compacted: c.store.compacted.Load()}
	case errors.Is(err, rpctypes.ErrFutureRev):
		return &FutureRevisionError{Wanted: rev, Current: c.store.newest()}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return c.store.readError(err)
}
