package storage

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// An object may be created within another one: in a namespace, or for the definition of its
// kind. A fence is a key that is written when the other object ends. The transaction of a
// creation requires that there is no fence, so nothing is created after it, however long the
// creation took since the other object was read. The name of a fence is never used again.
//
// A comparison of the other object's revision would need no fences, but etcd reads the whole
// value for it, and the object would have to be in the same etcd.

// fencePrefix is the prefix of fences below Options.Prefix. No collection has it.
const fencePrefix = "/fences/"

// fenceTTL is the time after which etcd deletes a fence. It is much longer than any request.
const fenceTTL = 24 * time.Hour

// maxFences is the maximum number of fences of a write: of its namespace and its definition.
const maxFences = 2

func (s *Store) fenceKey(name string) []byte {
	key := make([]byte, 0, len(s.opts.Prefix)+len(fencePrefix)+len(name))
	key = append(append(append(key, s.opts.Prefix...), fencePrefix...), name...)
	return key
}

// putFences returns the operations that write fences.
func (s *Store) putFences(ctx context.Context, fences []string) ([]clientv3.Op, error) {
	if len(fences) == 0 {
		return nil, nil
	}
	lease, err := s.leases.get(ctx, s, fenceTTL)
	if err != nil {
		return nil, err
	}
	ops := make([]clientv3.Op, len(fences))
	for i, name := range fences {
		ops[i] = clientv3.OpPut(string(s.fenceKey(name)), "", clientv3.WithLease(lease))
	}
	return ops, nil
}

// PutFence writes a fence, unless it exists, and reports whether it was missing. When it
// returns, Create stores nothing any more with a fence of that name.
func (s *Store) PutFence(ctx context.Context, name string) (wasMissing bool, err error) {
	if s.ctx.Err() != nil {
		return false, ErrClosed
	}
	put, err := s.putFences(ctx, []string{name})
	if err != nil {
		return false, err
	}
	resp, err := s.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(string(s.fenceKey(name))), "=", 0)).Then(put...).Commit()
	if err != nil {
		s.leases.forget() // the lease may have expired
		return false, fmt.Errorf("write fence: %w", writeError(err))
	}
	return resp.Succeeded, nil
}

// checkFences returns an error if there are too many fences.
func checkFences(fences []string) error {
	if len(fences) > maxFences {
		return fmt.Errorf("storage: %d fences, at most %d are possible", len(fences), maxFences)
	}
	return nil
}
