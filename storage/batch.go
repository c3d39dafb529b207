package storage

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/miniapiserver/miniapiserver/api"
)

// NewObject is an object that CreateAll creates.
type NewObject struct {
	In     *Collection
	Key    string
	Object api.Object
}

// MaxBatch is the maximum number of objects for CreateAll: etcd's default limit of
// operations in a transaction.
const MaxBatch = 128

// CreateAll creates objects in collections of the store in one transaction. It creates all of them
// or, with ErrExists, none. The bootstrap uses it to avoid many sequential writes.
func (s *Store) CreateAll(ctx context.Context, objects []NewObject) error {
	if s.ctx.Err() != nil {
		return ErrClosed
	}
	writes := make([]*keyWrite, len(objects))
	guards := make([]clientv3.Cmp, len(objects))
	puts := make([]clientv3.Op, len(objects))
	for i, n := range objects {
		if err := checkKey(n.Key); err != nil {
			return err
		}
		if n.In.store != s {
			return fmt.Errorf("storage: collection %s belongs to another store", n.In.prefix)
		}
		value, err := n.In.encode(n.Object)
		if err != nil {
			return err
		}
		if writes[i], err = n.In.newWrite(ctx, opCreate, n.Key, value); err != nil {
			return err
		}
		full := n.In.prefix + n.Key
		puts[i] = clientv3.OpPut(full, string(writes[i].stored), clientv3.WithLease(writes[i].lease))
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
		n.In.written.note(rev)
		n.In.handoff.finish(n.Key, writes[i], rev, func() *Item { return writes[i].item(n.In.config(), n.Key, rev) })
	}
	switch {
	case err != nil:
		return writeError(err)
	case rev == 0:
		return ErrExists
	}
	return nil
}
