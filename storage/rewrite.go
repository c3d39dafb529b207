package storage

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// ErrOtherWriter means that another server changed a key while Rewrite made it what it was.
var ErrOtherWriter = errors.New("another server writes to the same etcd")

// ErrRewritten means that a Rewrite came between BeforeRewrite and the write.
var ErrRewritten = errors.New("the state that the write follows from was replaced by an earlier one")

// rewritesKey is the key of the number of Rewrites of a store in a context.
type rewritesKey struct{ s *Store }

// BeforeRewrite returns a context whose writes fail with ErrRewritten if a Rewrite comes before them. It is for writes without a
// precondition that follow from what was read before, such as the deletion of all that is in a namespace.
func (s *Store) BeforeRewrite(ctx context.Context) context.Context {
	return context.WithValue(ctx, rewritesKey{s}, s.rewrites.Load())
}

// IsRewritten reports whether a Rewrite came since BeforeRewrite.
func (s *Store) IsRewritten(ctx context.Context) bool {
	now := s.rewrites.Load()
	if now == 0 {
		return false
	}
	then, ok := ctx.Value(rewritesKey{s}).(int64)
	return ok && then != now
}

// Rewrite is a step of going back to an earlier state: the differences to undo, and the fences of the scopes that end or exist again.
type Rewrite struct {
	Differences []Difference
	// Fences are written, and RemovedFences removed, together with the differences.
	Fences, RemovedFences []string
}

// HoldWrites makes the writes of all collections wait until release is called. It returns the state of all collections, which
// includes every write before.
func (s *Store) HoldWrites(ctx context.Context) (now *Mark, release func(), err error) {
	if err := s.lockWrites(ctx, s.writes.Lock, s.writes.Unlock); err != nil {
		return nil, nil, writeError(err)
	}
	now, err = s.Mark(ctx)
	if err != nil {
		s.writes.Unlock()
		return nil, nil, err
	}
	return now, s.releaseWrites, nil
}

// lockWrites calls lock for s.writes when no Rewrite is left to be undone.
func (s *Store) lockWrites(ctx context.Context, lock, unlock func()) error {
	for {
		lock()
		failed := s.failedRewrite
		if failed == nil {
			return nil
		}
		unlock()
		select {
		case <-failed.undone:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.ctx.Done():
			return ErrClosed
		}
	}
}

// releaseWrites lets writes continue, once a Rewrite that failed is undone.
func (s *Store) releaseWrites() {
	failed := s.failedRewrite
	s.writes.Unlock()
	if failed != nil {
		s.spawn(func() { s.retryUndo(failed) })
	}
}

// rewriteBytes is the size of the values of a transaction of Rewrite, in bytes; etcd refuses larger requests.
const rewriteBytes = 1 << 20

// Rewrite makes the keys of the differences what they were in their Mark: it puts the former values, and deletes keys that did
// not exist. The caller holds the writes, from before the differences were found. The steps are written one after the other, each in
// as few transactions as possible. Watches see ordinary events. It returns when the caches have them.
//
// If it fails, what it wrote is undone before writes continue. If the process ends in the middle, the next start undoes it.
func (s *Store) Rewrite(ctx context.Context, steps []Rewrite) (int64, error) {
	var batches []rewriteBatch
	for _, step := range steps {
		more, err := s.rewriteBatches(ctx, step)
		if err != nil {
			return 0, err
		}
		batches = append(batches, more...)
	}
	before := s.applied.rev.Load()
	defer s.rewrites.Add(1) // when the caches have the earlier state: what was read before is outdated
	if len(batches) > 1 {   // a single transaction is never half written
		if err := s.markUndo(ctx, before, batches); err != nil {
			return 0, err
		}
	}
	rev := before
	for i := range batches {
		if i > 0 {
			batches[i].guards = append(batches[i].guards, s.undoIsAt(batches[0].rev))
		}
		resp, err := s.client.Txn(ctx).If(batches[i].guards...).Then(batches[i].ops...).Commit()
		if err == nil && resp.Succeeded {
			rev, batches[i].rev = resp.Header.Revision, resp.Header.Revision
			continue
		}
		written := batches[:i]
		if err != nil {
			written = batches[:i+1] // its outcome may be unknown
		}
		if len(batches) > 1 && len(written) > 0 {
			s.failedRewrite = &failedRewrite{before, keysOf(written), make(chan struct{})}
		}
		if err == nil {
			return 0, ErrOtherWriter
		}
		return 0, writeError(err)
	}
	return rev, s.caughtUp(ctx, rev)
}

// rewriteBatch is a transaction of Rewrite.
type rewriteBatch struct {
	guards []clientv3.Cmp
	ops    []clientv3.Op
	bytes  int
	rev    int64 // once it is written
}

// rewriteBatches returns the transactions of a step.
func (s *Store) rewriteBatches(ctx context.Context, step Rewrite) ([]rewriteBatch, error) {
	var out []rewriteBatch
	// A batch leaves room for undoKey, which is one of etcd's maximum number of operations.
	add := func(size int, guard []clientv3.Cmp, op clientv3.Op) {
		if n := len(out); n == 0 || len(out[n-1].ops) == MaxBatch-1 || out[n-1].bytes+size > rewriteBytes {
			out = append(out, rewriteBatch{})
		}
		b := &out[len(out)-1]
		b.guards, b.ops, b.bytes = append(b.guards, guard...), append(b.ops, op), b.bytes+size
	}
	fences, err := s.putFences(ctx, step.Fences)
	if err != nil {
		return nil, err
	}
	for _, op := range fences {
		add(64, nil, op)
	}
	for _, name := range step.RemovedFences {
		add(64, nil, clientv3.OpDelete(string(s.fenceKey(name))))
	}
	for i := range step.Differences {
		d := &step.Differences[i]
		key := d.config.path + d.Key
		var rev int64
		if d.Now != nil {
			rev = d.Now.rev
		}
		guard := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(key), "=", rev)}
		if d.Then == nil {
			add(len(key), guard, clientv3.OpDelete(key))
			continue
		}
		w, err := s.newWriteOf(ctx, d.config, d.Key, d.Then.value)
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", key, err)
		}
		add(len(key)+len(w.stored), guard, clientv3.OpPut(key, string(w.stored), clientv3.WithLease(w.lease)))
	}
	return out, nil
}
