package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
	"weak"

	"github.com/miniapiserver/miniapiserver/api"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Create writes a new object; ErrExists if the key is taken. With ttl above 0
// it goes away by itself after about that time.
//
// The resourceVersion and selfLink of obj are cleared for encoding. From then on
// obj must not be changed by anybody else, whatever Create returns: it may become
// the item's. When Create returns without an error, obj has the resourceVersion of
// the item.
func (c *Collection) Create(ctx context.Context, key string, obj api.Object, ttl time.Duration) (*Item, error) {
	if c.closed.Load() {
		return nil, ErrClosed
	}
	if err := checkKey(key); err != nil {
		return nil, err
	}
	value, err := c.encode(obj)
	if err != nil {
		return nil, err
	}
	lease, err := c.lease(ctx, ttl)
	if err != nil {
		return nil, err
	}
	w := &write{value: value, lease: lease, obj: obj}
	w.offer(c.kind())
	item, _, err := c.commit(ctx, key, w)
	switch {
	case err != nil:
		return nil, err
	case item == nil:
		return nil, ErrExists
	}
	return item, nil
}

// Update writes obj in the place of old. It returns a ConflictError if the key
// was changed since, and ErrNotFound if it is gone. If obj is stored as old is,
// nothing is written and old is returned, once it is known to be current. obj,
// which may share memory with the object of old, is else treated as by Create.
func (c *Collection) Update(ctx context.Context, old *Item, obj api.Object, ttl time.Duration) (*Item, error) {
	value, err := c.encode(obj)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(value, old.value) {
		return c.verify(ctx, old)
	}
	lease, err := c.lease(ctx, ttl)
	if err != nil {
		return nil, err
	}
	w := &write{at: old.rev, value: value, lease: lease, obj: obj}
	if old.of == c.kind() {
		w.offer(old.of)
	}
	item, current, err := c.commit(ctx, old.key, w)
	switch {
	case err != nil:
		return nil, err
	case item == nil:
		return nil, c.conflict(old.key, current)
	}
	return item, nil
}

// Delete removes old, with the errors of Update. The item that it returns is
// the last state as of the deletion.
func (c *Collection) Delete(ctx context.Context, old *Item) (*Item, error) {
	item, current, err := c.commit(ctx, old.key, &write{at: old.rev, remove: true, value: old.value})
	if err == nil && item == nil {
		return nil, c.conflict(old.key, current)
	}
	return item, err
}

// write is a transaction about one key: it is put or removed if it is at a
// revision, and else, unless it was to be created, read.
type write struct {
	key    string // in etcd
	at     int64  // 0: it is not there
	remove bool
	value  []byte // to put or, when removed, what was there
	lease  clientv3.LeaseID
	obj    api.Object // of which value was made; nil if that is not known
	// of is the kind that would make obj of value; nil if none would, or if obj is
	// an item's by now.
	of *kind
}

// offer makes of obj what of would read, so that an item of the kind can have it.
// Parts of obj may be those of an item that others read: only one of the same kind,
// in which nothing is left to be changed.
func (w *write) offer(of *kind) {
	if of.AsStored != nil && of.AsStored(w.obj) {
		w.of = of
	}
}

// item is what w made at a revision. The first one gets obj.
func (w *write) item(of *kind, key string, rev int64) *Item {
	i := &Item{of: of, key: key, rev: rev, value: w.value}
	if w.of == of {
		w.of = nil
		w.obj.SetResourceVersion(strconv.FormatInt(rev, 10))
		i.object = weak.Make(&decoded{w.obj})
		i.health.Store(sound)
		w.obj = nil
	}
	return i
}

// commit runs w on the key and returns the item that it made, or what the key
// holds instead.
func (c *Collection) commit(ctx context.Context, key string, w *write) (*Item, *mvccpb.KeyValue, error) {
	if c.store.ctx.Err() != nil || c.closed.Load() {
		return nil, nil, ErrClosed
	}
	w.key = c.fullKey(key)
	c.handoff.begin(key, w)
	rev, current, err := c.store.transact(ctx, w)
	if err != nil || rev == 0 {
		c.handoff.finish(key, w, 0, nil)
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			c.store.leases.forget() // etcd lost it; the next write gets another
		}
		return nil, current, writeError(err)
	}
	c.noteWritten(rev)
	item := c.handoff.finish(key, w, rev, func() *Item { return w.item(c.kind(), key, rev) })
	if w.obj != nil {
		w.obj.SetResourceVersion(strconv.FormatInt(rev, 10))
	}
	return item, nil, nil
}

// transact returns the revision that w made or, with 0, what the key holds if it
// is not as w wants it.
func (s *Store) transact(ctx context.Context, w *write) (int64, *mvccpb.KeyValue, error) {
	if s.embedded != nil {
		return s.embedded.transact(ctx, w)
	}
	op := clientv3.OpDelete(w.key)
	if !w.remove {
		op = clientv3.OpPut(w.key, string(w.value), clientv3.WithLease(w.lease))
	}
	guard := clientv3.Compare(clientv3.ModRevision(w.key), "=", w.at)
	resp, err := s.client.Txn(ctx).If(guard).Then(op).Else(clientv3.OpGet(w.key)).Commit()
	switch {
	case err != nil:
		return 0, nil, err
	case resp.Succeeded:
		return resp.Header.Revision, nil, nil
	}
	return 0, found((*pb.TxnResponse)(resp)), nil
}

func found(resp *pb.TxnResponse) *mvccpb.KeyValue {
	if len(resp.Responses) > 0 {
		if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
			return kvs[0]
		}
	}
	return nil
}

// verify makes sure, without a write, that old is what the key holds.
func (c *Collection) verify(ctx context.Context, old *Item) (*Item, error) {
	if c.store.ctx.Err() != nil {
		return nil, ErrClosed
	}
	full := c.fullKey(old.key)
	guard := clientv3.Compare(clientv3.ModRevision(full), "=", old.rev)
	resp, err := c.store.client.Txn(ctx).If(guard).Else(clientv3.OpGet(full)).Commit()
	if err != nil {
		return nil, c.storedError(ctx, err, 0)
	}
	if resp.Succeeded {
		return old, nil
	}
	return nil, c.conflict(old.key, found((*pb.TxnResponse)(resp)))
}

func (c *Collection) conflict(key string, current *mvccpb.KeyValue) error {
	if current == nil {
		return ErrNotFound
	}
	return &ConflictError{Current: c.item(key, current)}
}

// lease is that of keys with a TTL; 0 means none.
func (c *Collection) lease(ctx context.Context, ttl time.Duration) (clientv3.LeaseID, error) {
	if ttl <= 0 {
		return 0, nil
	}
	return c.store.leases.get(ctx, c.store, ttl)
}

// encode makes the stored value, without what is not stored.
func (c *Collection) encode(obj api.Object) ([]byte, error) {
	rev, link := obj.GetResourceVersion(), obj.GetSelfLink()
	obj.SetResourceVersion("")
	obj.SetSelfLink("")
	value, err := c.kind().Encode(obj)
	obj.SetResourceVersion(rev)
	obj.SetSelfLink(link)
	if err != nil {
		return nil, fmt.Errorf("storage: encoding an object of %s: %w", c.kind().Prefix, err)
	}
	return value, nil
}
