package storage

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/miniapiserver/miniapiserver/api"
)

// New is an object that is to be created.
type New struct {
	In     *Collection
	Key    string
	Object api.Object
}

// MaxBatch is how many objects CreateAll can write. etcd takes up to 128
// operations in a transaction unless it is told otherwise.
const MaxBatch = 128

// CreateAll creates objects of any collections in one transaction: all of them
// or, with ErrExists, none. It is for the start, where many writes one after the
// other would take their time.
func (s *Store) CreateAll(ctx context.Context, objects []New) error {
	if s.ctx.Err() != nil {
		return ErrClosed
	}
	writes := make([]*write, len(objects))
	guards := make([]clientv3.Cmp, len(objects))
	puts := make([]clientv3.Op, len(objects))
	for i, n := range objects {
		if err := checkKey(n.Key); err != nil {
			return err
		}
		value, err := n.In.encode(n.Object)
		if err != nil {
			return err
		}
		full := n.In.fullKey(n.Key)
		writes[i], puts[i] = &write{value: value}, clientv3.OpPut(full, string(value))
		guards[i] = clientv3.Compare(clientv3.ModRevision(full), "=", 0)
	}
	for i, n := range objects {
		n.In.handoff.begin(n.Key, writes[i])
	}
	resp, err := s.client.Txn(ctx).If(guards...).Then(puts...).Commit()
	var rev int64
	if err == nil && resp.Succeeded {
		rev = resp.Header.Revision
	}
	for i, n := range objects {
		n.In.noteWritten(rev)
		n.In.handoff.finish(n.Key, writes[i], rev, func() *Item { return writes[i].item(n.In.kind(), n.Key, rev) })
	}
	switch {
	case err != nil:
		return writeError(err)
	case rev == 0:
		return ErrExists
	}
	return nil
}
