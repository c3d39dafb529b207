package storage

import (
	"context"
	"fmt"
	"strings"
	"time"

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

// SetLeased writes a key that belongs to no collection. etcd removes it after ttl, which is rounded
// up to seconds, unless it is written again.
func (s *Store) SetLeased(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	lease, err := s.client.Grant(ctx, int64((ttl+time.Second-1)/time.Second))
	if err == nil {
		_, err = s.client.Put(ctx, s.opts.Prefix+"/"+key, string(value), clientv3.WithLease(lease.ID))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", key, writeError(err))
	}
	return nil
}

// RemoveValue removes a key that belongs to no collection, if it exists.
func (s *Store) RemoveValue(ctx context.Context, key string) error {
	if _, err := s.client.Delete(ctx, s.opts.Prefix+"/"+key); err != nil {
		return fmt.Errorf("remove %s: %w", key, writeError(err))
	}
	return nil
}

// Values reads the keys below a directory that belong to no collection, by their names within it.
func (s *Store) Values(ctx context.Context, directory string) (map[string][]byte, error) {
	prefix := s.opts.Prefix + "/" + directory + "/"
	got, err := s.client.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, readError(err)
	}
	values := make(map[string][]byte, len(got.Kvs))
	for _, kv := range got.Kvs {
		values[strings.TrimPrefix(string(kv.Key), prefix)] = kv.Value
	}
	return values, nil
}
