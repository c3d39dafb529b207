package storage

import (
	"context"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// newestRevision is the newest of the revisions that were noted.
type newestRevision struct{ rev atomic.Int64 }

func (n *newestRevision) note(rev int64) {
	for {
		old := n.rev.Load()
		if rev <= old || n.rev.CompareAndSwap(old, rev) {
			return
		}
	}
}

// ackingKV records the revision of every response before it returns the response.
type ackingKV struct {
	clientv3.KV
	*newestRevision
}

// Do implements clientv3.KV.
func (k ackingKV) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
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
func (k ackingKV) Put(ctx context.Context, key, value string, opts ...clientv3.OpOption) (*clientv3.PutResponse, error) {
	resp, err := k.KV.Put(ctx, key, value, opts...)
	if err == nil {
		k.note(resp.Header.Revision)
	}
	return resp, err
}

// Get implements clientv3.KV.
func (k ackingKV) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	resp, err := k.KV.Get(ctx, key, opts...)
	if err == nil {
		k.note(resp.Header.Revision)
	}
	return resp, err
}

// Delete implements clientv3.KV.
func (k ackingKV) Delete(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	resp, err := k.KV.Delete(ctx, key, opts...)
	if err == nil {
		k.note(resp.Header.Revision)
	}
	return resp, err
}

// Txn implements clientv3.KV.
func (k ackingKV) Txn(ctx context.Context) clientv3.Txn {
	return ackingTxn{k.KV.Txn(ctx), k.newestRevision}
}

type ackingTxn struct {
	clientv3.Txn
	*newestRevision
}

// If implements clientv3.Txn.
func (t ackingTxn) If(c ...clientv3.Cmp) clientv3.Txn {
	return ackingTxn{t.Txn.If(c...), t.newestRevision}
}

// Then implements clientv3.Txn.
func (t ackingTxn) Then(o ...clientv3.Op) clientv3.Txn {
	return ackingTxn{t.Txn.Then(o...), t.newestRevision}
}

// Else implements clientv3.Txn.
func (t ackingTxn) Else(o ...clientv3.Op) clientv3.Txn {
	return ackingTxn{t.Txn.Else(o...), t.newestRevision}
}

// Commit implements clientv3.Txn.
func (t ackingTxn) Commit() (*clientv3.TxnResponse, error) {
	resp, err := t.Txn.Commit()
	if err == nil {
		t.note(resp.Header.Revision)
	}
	return resp, err
}

// ackingLease records the revision at which the revocation of a lease deleted its keys.
type ackingLease struct {
	clientv3.Lease
	*newestRevision
}

// Revoke implements clientv3.Lease.
func (l ackingLease) Revoke(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseRevokeResponse, error) {
	resp, err := l.Lease.Revoke(ctx, id)
	if err == nil {
		l.note(resp.Header.Revision)
	}
	return resp, err
}
