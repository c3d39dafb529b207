package storage

import (
	"context"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/miniapiserver/miniapiserver/request"
)

// cachedState is a past state that is likely to be read again, because the first page of a
// list was taken from it.
type cachedState struct {
	rev int64
	st  *collectionState
}

// cacheState caches a state; the cache holds the last few.
func (c *Collection) cacheState(rev int64, st *collectionState) {
	const maxCached = 4
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.ContainsFunc(c.cachedStates, func(k cachedState) bool { return k.rev == rev }) {
		return
	}
	if len(c.cachedStates) == maxCached {
		c.cachedStates = slices.Delete(c.cachedStates, 0, 1)
	}
	c.cachedStates = append(c.cachedStates, cachedState{rev, st})
}

// dropCachedStates drops the cached states from before rev, which was compacted.
func (c *Collection) dropCachedStates(rev int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cachedStates = slices.DeleteFunc(c.cachedStates, func(k cachedState) bool { return k.rev < rev })
}

// stateAt returns the state at an earlier revision: a cached one, or the current state with
// the later changes of the window reverted. It returns nil if the window does not reach back
// to rev.
func (c *Collection) stateAt(rev int64) *collectionState {
	c.mu.Lock()
	for _, k := range c.cachedStates {
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
	st.revert(changes)
	st.rev = rev
	c.cacheState(rev, st)
	return st
}

// getFromEtcd reads a key from etcd at revision rev; 0 means the current one.
func (c *Collection) getFromEtcd(ctx context.Context, key string, rev int64) (*Item, error) {
	if c.store.local != nil {
		return nil, c.errNoPast(rev)
	}
	if request.From(ctx).Traced {
		var span *request.Span
		ctx, span = c.startSpan(ctx, opGet, c.prefix+key)
		defer span.End()
	}
	start := time.Now()
	resp, err := c.store.client.Get(ctx, c.prefix+key, clientv3.WithRev(rev))
	c.observeEtcd(ctx, opGet, start, err)
	if err != nil {
		return nil, c.store.etcdReadError(ctx, err, rev)
	}
	if len(resp.Kvs) == 0 {
		return nil, ErrNotFound
	}
	return c.item(key, resp.Kvs[0]), nil
}

// listFromEtcd reads a page from etcd at revision rev; 0 means the current one.
func (c *Collection) listFromEtcd(ctx context.Context, o *ListOptions, rev int64) (*List, error) {
	if c.store.local != nil {
		return nil, c.errNoPast(rev)
	}
	start := o.Prefix
	if o.After != "" && o.After >= start {
		start = o.After + "\x00"
	}
	from, end := c.prefix+start, clientv3.GetPrefixRangeEnd(c.prefix+o.Prefix)
	if o.Key != "" {
		from, end = c.prefix+o.Key, c.prefix+o.Key+"\x00"
	}
	if request.From(ctx).Traced {
		var span *request.Span
		ctx, span = c.startSpan(ctx, opList, c.prefix+o.Prefix)
		defer span.End()
	}
	unfiltered := o.Filter == nil && o.Field == ""
	l := &List{Revision: rev}
	var bad corruptItems
	for {
		page := int64(loadPage)
		if unfiltered && o.Limit > 0 {
			page = min(page, o.Limit-int64(len(l.Items)))
		}
		start := time.Now()
		resp, err := c.store.client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(page), clientv3.WithRev(rev))
		c.observeEtcd(ctx, opList, start, err)
		if err != nil {
			return nil, c.store.etcdReadError(ctx, err, rev)
		}
		if rev == 0 {
			rev, l.Revision = resp.Header.Revision, resp.Header.Revision
		}
		l.examined += len(resp.Kvs)
		for n, kv := range resp.Kvs {
			i := c.item(strings.TrimPrefix(string(kv.Key), c.prefix), kv)
			from = string(kv.Key) + "\x00"
			if o.Verify && i.Corrupt() != nil && !bad.addItem(i) {
				return nil, bad.err()
			}
			if !o.selects(i) {
				continue
			}
			l.Items = append(l.Items, i)
			if o.Limit > 0 && int64(len(l.Items)) == o.Limit {
				if left := resp.Count - int64(n) - 1; left > 0 {
					l.Next, l.Remaining = i.key, left
					if !unfiltered {
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
