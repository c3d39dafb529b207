package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/miniapiserver/miniapiserver/api"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Create writes a new object; ErrExists if the key is taken. With ttl above 0
// it goes away by itself after about that time.
//
// The resourceVersion and selfLink of obj are cleared for encoding and are
// what they were when Create returns; the object that it made, as it is
// stored, is that of the returned item.
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
	full := c.fullKey(key)
	put, err := c.put(ctx, full, value, ttl)
	if err != nil {
		return nil, err
	}
	item, _, err := c.commit(ctx, key, clientv3.Compare(clientv3.ModRevision(full), "=", 0), put, value)
	if err == nil && item == nil {
		return nil, ErrExists
	}
	return item, err
}

// Update writes obj in the place of old. It returns a ConflictError if the key
// was changed since, and ErrNotFound if it is gone. If obj is stored as old is,
// nothing is written and old is returned, once it is known to be current. obj
// is treated as Create does.
func (c *Collection) Update(ctx context.Context, old *Item, obj api.Object, ttl time.Duration) (*Item, error) {
	value, err := c.encode(obj)
	if err != nil {
		return nil, err
	}
	full := c.fullKey(old.key)
	if bytes.Equal(value, old.value) {
		return c.verify(ctx, old)
	}
	put, err := c.put(ctx, full, value, ttl)
	if err != nil {
		return nil, err
	}
	item, current, err := c.commit(ctx, old.key, unchanged(full, old), put, value)
	if err == nil && item == nil {
		return nil, c.conflict(old.key, current)
	}
	return item, err
}

// Delete removes old, with the errors of Update. The item that it returns is
// the last state as of the deletion.
func (c *Collection) Delete(ctx context.Context, old *Item) (*Item, error) {
	full := c.fullKey(old.key)
	item, current, err := c.commit(ctx, old.key, unchanged(full, old), clientv3.OpDelete(full), old.value)
	if err == nil && item == nil {
		return nil, c.conflict(old.key, current)
	}
	return item, err
}

func unchanged(full string, old *Item) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(full), "=", old.rev)
}

// commit runs the transaction: op if guard holds, else a read of the key. It
// returns the item with value that op made, or what the key holds instead.
func (c *Collection) commit(ctx context.Context, key string, guard clientv3.Cmp, op clientv3.Op, value []byte) (*Item, *mvccpb.KeyValue, error) {
	if c.store.ctx.Err() != nil || c.closed.Load() {
		return nil, nil, ErrClosed
	}
	c.handoff.begin(key)
	resp, err := c.store.client.Txn(ctx).If(guard).Then(op).Else(clientv3.OpGet(c.fullKey(key))).Commit()
	if err != nil || !resp.Succeeded {
		c.handoff.finish(key, 0, nil)
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			c.store.leases.forget() // etcd lost it; the next write gets another
		}
		if err != nil {
			return nil, nil, writeError(err)
		}
		return nil, found(resp), nil
	}
	rev := resp.Header.Revision
	c.noteWritten(rev)
	return c.handoff.finish(key, rev, func() *Item {
		return &Item{of: c.kind, key: key, rev: rev, value: value}
	}), nil, nil
}

func found(resp *clientv3.TxnResponse) *mvccpb.KeyValue {
	if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}

// verify makes sure, without a write, that old is what the key holds.
func (c *Collection) verify(ctx context.Context, old *Item) (*Item, error) {
	if c.store.ctx.Err() != nil {
		return nil, ErrClosed
	}
	full := c.fullKey(old.key)
	resp, err := c.store.client.Txn(ctx).If(unchanged(full, old)).Else(clientv3.OpGet(full)).Commit()
	if err != nil {
		return nil, c.storedError(ctx, err, 0)
	}
	if resp.Succeeded {
		return old, nil
	}
	return nil, c.conflict(old.key, found(resp))
}

func (c *Collection) conflict(key string, current *mvccpb.KeyValue) error {
	if current == nil {
		return ErrNotFound
	}
	return &ConflictError{Current: c.item(key, current)}
}

func (c *Collection) put(ctx context.Context, full string, value []byte, ttl time.Duration) (clientv3.Op, error) {
	if ttl <= 0 {
		return clientv3.OpPut(full, string(value)), nil
	}
	lease, err := c.store.leases.get(ctx, c.store, ttl)
	if err != nil {
		return clientv3.Op{}, err
	}
	return clientv3.OpPut(full, string(value), clientv3.WithLease(lease)), nil
}

// encode makes the stored value, without what is not stored.
func (c *Collection) encode(obj api.Object) ([]byte, error) {
	rev, link := obj.GetResourceVersion(), obj.GetSelfLink()
	obj.SetResourceVersion("")
	obj.SetSelfLink("")
	value, err := c.kind.Encode(obj)
	obj.SetResourceVersion(rev)
	obj.SetSelfLink(link)
	if err != nil {
		return nil, fmt.Errorf("storage: encoding an object of %s: %w", c.kind.Prefix, err)
	}
	return value, nil
}
