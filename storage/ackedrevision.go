package storage

import (
	"context"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// ackedRevision is the newest revision in any response of an embedded etcd. All requests go
// through one clientv3.Client, so a consistent read can use it as the current revision instead
// of asking etcd.
type ackedRevision struct{ rev atomic.Int64 }

func (a *ackedRevision) noteRevision(rev int64) {
	for {
		old := a.rev.Load()
		if rev <= old || a.rev.CompareAndSwap(old, rev) {
			return
		}
	}
}

// ackingKV records the revision of every response before it returns the response.
type ackingKV struct {
	clientv3.KV
	*ackedRevision
}

// Do implements clientv3.KV.
func (k ackingKV) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	resp, err := k.KV.Do(ctx, op)
	if err != nil {
		return resp, err
	}
	switch {
	case op.IsPut():
		k.noteRevision(resp.Put().Header.Revision)
	case op.IsGet():
		k.noteRevision(resp.Get().Header.Revision)
	case op.IsDelete():
		k.noteRevision(resp.Del().Header.Revision)
	case op.IsTxn():
		k.noteRevision(resp.Txn().Header.Revision)
	}
	return resp, nil
}

// Put implements clientv3.KV.
func (k ackingKV) Put(ctx context.Context, key, value string, opts ...clientv3.OpOption) (*clientv3.PutResponse, error) {
	resp, err := k.KV.Put(ctx, key, value, opts...)
	if err == nil {
		k.noteRevision(resp.Header.Revision)
	}
	return resp, err
}

// Get implements clientv3.KV.
func (k ackingKV) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	resp, err := k.KV.Get(ctx, key, opts...)
	if err == nil {
		k.noteRevision(resp.Header.Revision)
	}
	return resp, err
}

// Delete implements clientv3.KV.
func (k ackingKV) Delete(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	resp, err := k.KV.Delete(ctx, key, opts...)
	if err == nil {
		k.noteRevision(resp.Header.Revision)
	}
	return resp, err
}

// Txn implements clientv3.KV.
func (k ackingKV) Txn(ctx context.Context) clientv3.Txn {
	return ackingTxn{k.KV.Txn(ctx), k.ackedRevision}
}

type ackingTxn struct {
	clientv3.Txn
	*ackedRevision
}

// If implements clientv3.Txn.
func (t ackingTxn) If(c ...clientv3.Cmp) clientv3.Txn {
	return ackingTxn{t.Txn.If(c...), t.ackedRevision}
}

// Then implements clientv3.Txn.
func (t ackingTxn) Then(o ...clientv3.Op) clientv3.Txn {
	return ackingTxn{t.Txn.Then(o...), t.ackedRevision}
}

// Else implements clientv3.Txn.
func (t ackingTxn) Else(o ...clientv3.Op) clientv3.Txn {
	return ackingTxn{t.Txn.Else(o...), t.ackedRevision}
}

// Commit implements clientv3.Txn.
func (t ackingTxn) Commit() (*clientv3.TxnResponse, error) {
	resp, err := t.Txn.Commit()
	if err == nil {
		t.noteRevision(resp.Header.Revision)
	}
	return resp, err
}

// ackingLease records the revision at which the revocation of a lease deleted its keys.
type ackingLease struct {
	clientv3.Lease
	*ackedRevision
}

// Revoke implements clientv3.Lease.
func (l ackingLease) Revoke(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseRevokeResponse, error) {
	resp, err := l.Lease.Revoke(ctx, id)
	if err == nil {
		l.noteRevision(resp.Header.Revision)
	}
	return resp, err
}
