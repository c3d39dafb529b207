package storage

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// expiries deletes objects with a TTL when they fall due by a clock that can be moved, one after the other. etcd's leases run in real
// time, and delete what a clock that stands or was reset keeps for longer. Without such a clock it is nil, and etcd alone deletes.
type expiries struct {
	store *Store
	wake  chan struct{} // holds one signal: there are due objects

	mu      sync.Mutex
	waiting map[string]func() bool // stops the timer of an object, by its key in etcd
	due     []dueObject
}

// dueObject is an object that is to be deleted unless it was written again.
type dueObject struct {
	collection *Collection
	key        string
	rev        int64
	done       func()
}

// expiryTimeout bounds one deletion.
const expiryTimeout = 5 * time.Second

func newExpiries(s *Store) *expiries {
	if s.opts.Clock == nil {
		return nil
	}
	return &expiries{store: s, wake: make(chan struct{}, 1), waiting: map[string]func() bool{}}
}

// note begins the TTL of an object that was written, or ends that of a deleted one.
func (e *expiries) note(c *Collection, ch keyEvent) {
	if e == nil || c.config().TTL <= 0 {
		return
	}
	if ch.kv.Type == mvccpb.Event_DELETE {
		e.forget(c.prefix + ch.key)
		return
	}
	e.expireAt(c, ch.key, ch.kv.Kv.ModRevision, e.store.opts.Clock.Now().Add(c.config().TTL))
}

// forget ends the TTL of a key.
func (e *expiries) forget(full string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if stop := e.waiting[full]; stop != nil {
		stop()
		delete(e.waiting, full)
	}
}

// expireAt has an object deleted at a time of the clock, in place of an earlier time.
func (e *expiries) expireAt(c *Collection, key string, rev int64, at time.Time) {
	full := c.prefix + key
	e.forget(full)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting[full] = e.store.opts.Clock.AfterFunc(at, func(done func()) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.due = append(e.due, dueObject{c, key, rev, done})
		select {
		case e.wake <- struct{}{}:
		default:
		}
	})
}

// run deletes objects in the order in which they fall due, until the store is closed.
func (e *expiries) run() {
	for {
		select {
		case <-e.store.ctx.Done():
		case <-e.wake:
		}
		e.mu.Lock()
		due := e.due
		e.due = nil
		e.mu.Unlock()
		for _, d := range due {
			e.expire(d)
		}
		if e.store.ctx.Err() != nil {
			return
		}
	}
}

// expire deletes an object.
func (e *expiries) expire(d dueObject) {
	defer d.done()
	state := d.collection.current.Load()
	if state == nil || e.store.ctx.Err() != nil {
		return
	}
	item, ok := state.items.Get(d.key)
	if !ok || item.rev != d.rev {
		return // written again, with a time of its own
	}
	ctx, cancel := context.WithTimeout(e.store.ctx, expiryTimeout)
	defer cancel()
	_, err := d.collection.Delete(ctx, item)
	var conflict *ConflictError
	if err != nil && !errors.Is(err, ErrNotFound) && !errors.As(err, &conflict) && e.store.ctx.Err() == nil {
		e.store.log.Warn("an object that expired is left to etcd", "key", item.key, "error", err)
	}
}

// leased is a loaded object with a TTL.
type leased struct {
	collection *Collection
	key        string
	rev        int64
	lease      clientv3.LeaseID
}

// load begins the TTLs of objects of earlier, with the time that etcd has left for them.
func (e *expiries) load(ctx context.Context, objects []leased) error {
	left := map[clientv3.LeaseID]time.Duration{}
	for _, o := range objects {
		ttl, ok := left[o.lease]
		if !ok {
			resp, err := e.store.client.TimeToLive(ctx, o.lease)
			if err != nil {
				return e.store.readError(err)
			}
			ttl = time.Duration(resp.TTL) * time.Second
			left[o.lease] = ttl
		}
		e.expireAt(o.collection, o.key, o.rev, e.store.opts.Clock.Now().Add(max(ttl, 0)))
	}
	return nil
}
