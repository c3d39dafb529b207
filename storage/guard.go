package storage

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// A creation may depend on another object, its parent: a namespace, or the definition of its
// kind. A guard is a comparison in the transaction of the creation, so no object is created
// after its parent has ended, however long the creation took after the parent was read.
//
// There are two guards. Collection.Unchanged compares the revision of the parent, which needs
// the parent in the same etcd. Store.NoFence compares the absence of a fence, a key that
// PutFence writes before the objects of a parent are deleted. It is for parents in another
// etcd, and for parents with large values, which etcd would read for each comparison.

// Guard is a condition of a creation on another key of the same etcd.
type Guard struct {
	store    *Store
	key      string
	revision int64 // 0 means that the key does not exist
}

// fencePrefix is the prefix of fences below Options.Prefix. No collection has it.
const fencePrefix = "/fences/"

// fenceTTL is the time after which etcd deletes a fence. It is much longer than any request.
const fenceTTL = 24 * time.Hour

// Unchanged returns the guard that a key of the collection is at a revision.
func (c *Collection) Unchanged(key string, revision int64) Guard {
	return Guard{c.store, c.prefix + key, revision}
}

// Store returns the store of the collection.
func (c *Collection) Store() *Store { return c.store }

// NoFence returns the guard that there is no fence of the name.
func (s *Store) NoFence(name string) Guard { return Guard{s, s.fenceKey(name), 0} }

func (s *Store) fenceKey(name string) string { return s.opts.Prefix + fencePrefix + name }

// PutFence writes the fence of a name, unless it exists, and reports whether it was missing.
// When it returns, no creation with the guard NoFence is committed any more.
func (s *Store) PutFence(ctx context.Context, name string) (wasMissing bool, err error) {
	if s.ctx.Err() != nil {
		return false, ErrClosed
	}
	lease, err := s.leases.get(ctx, s, fenceTTL)
	if err != nil {
		return false, err
	}
	key := s.fenceKey(name)
	resp, err := s.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(key), "=", 0)).Then(clientv3.OpPut(key, "", clientv3.WithLease(lease))).Commit()
	if err != nil {
		s.leases.forget() // the lease may have expired
		return false, fmt.Errorf("write fence: %w", writeError(err))
	}
	return resp.Succeeded, nil
}

// checkGuards returns an error if there are too many guards, or one is for another etcd, which the
// transaction cannot compare.
func (s *Store) checkGuards(guards []Guard) error {
	if len(guards) > maxGuards {
		return fmt.Errorf("storage: %d guards, at most %d are possible", len(guards), maxGuards)
	}
	for _, g := range guards {
		if g.store != s {
			return fmt.Errorf("storage: the guard of %s belongs to another store", g.key)
		}
	}
	return nil
}
