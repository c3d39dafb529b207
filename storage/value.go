package storage

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Value reads a key that belongs to no collection, below the prefix. It returns the value
// and its revision, which is 0 if the key does not exist.
func (s *Store) Value(ctx context.Context, key string) (value []byte, revision int64, err error) {
	got, err := s.client.Get(ctx, s.opts.Prefix+"/"+key)
	if err != nil {
		return nil, 0, readError(err)
	}
	if len(got.Kvs) == 0 {
		return nil, 0, nil
	}
	return got.Kvs[0].Value, got.Kvs[0].ModRevision, nil
}

// SetValue writes a key that belongs to no collection if it is still at revision (0 if it
// does not exist), and reports whether it did.
func (s *Store) SetValue(ctx context.Context, key string, revision int64, value []byte) (bool, error) {
	full := s.opts.Prefix + "/" + key
	done, err := s.client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(full), "=", revision)).
		Then(clientv3.OpPut(full, string(value))).Commit()
	if err != nil {
		return false, fmt.Errorf("write %s: %w", key, writeError(err))
	}
	return done.Succeeded, nil
}
