package storage

import (
	"context"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// acked is the newest revision that an embedded etcd told anybody of in answer
// to a request. All requests go through one clientv3.Client, so that this, and
// no question to etcd, says how new a consistent read has to be.
type acked struct{ rev atomic.Int64 }

func (a *acked) note(rev int64) {
	for {
		old := a.rev.Load()
		if rev <= old || a.rev.CompareAndSwap(old, rev) {
			return
		}
	}
}

// notingKV notes the revision of every answer before it is given.
type notingKV struct {
	clientv3.KV
	*acked
}

// Do implements clientv3.KV.
func (k notingKV) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	resp, err := k.KV.Do(ctx, op)
	if err != nil {
		return resp, err
	}
	switch {
	case op.IsPut():
		k.note(resp.Put().Header.Revision)
	case op.IsGet():
		k.note(resp.Get().Header.Revision)
	case op.IsDelete():
		k.note(resp.Del().Header.Revision)
	case op.IsTxn():
		k.note(resp.Txn().Header.Revision)
	}
	return resp, nil
}

// Put implements clientv3.KV.
func (k notingKV) Put(ctx context.Context, key, value string, opts ...clientv3.OpOption) (*clientv3.PutResponse, error) {
	resp, err := k.KV.Put(ctx, key, value, opts...)
	if err == nil {
		k.note(resp.Header.Revision)
	}
	return resp, err
}

// Get implements clientv3.KV.
func (k notingKV) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	resp, err := k.KV.Get(ctx, key, opts...)
	if err == nil {
		k.note(resp.Header.Revision)
	}
	return resp, err
}

// Delete implements clientv3.KV.
func (k notingKV) Delete(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	resp, err := k.KV.Delete(ctx, key, opts...)
	if err == nil {
		k.note(resp.Header.Revision)
	}
	return resp, err
}

// Txn implements clientv3.KV.
func (k notingKV) Txn(ctx context.Context) clientv3.Txn {
	return notingTxn{k.KV.Txn(ctx), k.acked}
}

type notingTxn struct {
	clientv3.Txn
	*acked
}

// If implements clientv3.Txn.
func (t notingTxn) If(c ...clientv3.Cmp) clientv3.Txn { return notingTxn{t.Txn.If(c...), t.acked} }

// Then implements clientv3.Txn.
func (t notingTxn) Then(o ...clientv3.Op) clientv3.Txn { return notingTxn{t.Txn.Then(o...), t.acked} }

// Else implements clientv3.Txn.
func (t notingTxn) Else(o ...clientv3.Op) clientv3.Txn { return notingTxn{t.Txn.Else(o...), t.acked} }

// Commit implements clientv3.Txn.
func (t notingTxn) Commit() (*clientv3.TxnResponse, error) {
	resp, err := t.Txn.Commit()
	if err == nil {
		t.note(resp.Header.Revision)
	}
	return resp, err
}

// notingLease notes the revision at which a lease took its keys with it.
type notingLease struct {
	clientv3.Lease
	*acked
}

// Revoke implements clientv3.Lease.
func (l notingLease) Revoke(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseRevokeResponse, error) {
	resp, err := l.Lease.Revoke(ctx, id)
	if err == nil {
		l.note(resp.Header.Revision)
	}
	return resp, err
}
