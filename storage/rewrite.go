package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/miniapiserver/miniapiserver/internal/safefile"
)

// ErrOtherWriter means that another server changed a key while Rewrite made it what it was. The part that was written stays.
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
	s.writes.Lock()
	now, err = s.Mark(ctx)
	if err != nil {
		s.writes.Unlock()
		return nil, nil, err
	}
	return now, s.writes.Unlock, nil
}

// rewriteBytes is the size of the values of a transaction of Rewrite, in bytes; etcd refuses larger requests.
const rewriteBytes = 1 << 20

// Rewrite makes the keys of the differences what they were in their Mark: it puts the former values, and deletes keys that did
// not exist. The caller holds the writes, from before the differences were found. The steps are written one after the other, each in
// as few transactions as possible. Watches see ordinary events. It returns when the caches have them.
//
// If the process ends in the middle, the next start of an embedded etcd undoes what was written, by the file undoFile.
func (s *Store) Rewrite(ctx context.Context, steps []Rewrite) (int64, error) {
	var batches []rewriteBatch
	for _, step := range steps {
		more, err := s.rewriteBatches(ctx, step)
		if err != nil {
			return 0, err
		}
		batches = append(batches, more...)
	}
	rev := s.applied.rev.Load()
	defer s.rewrites.Add(1) // when the caches have the earlier state: what was read before is outdated
	if len(batches) > 1 {
		if err := s.beginUndo(rev); err != nil {
			return 0, err
		}
	}
	for i := range batches {
		resp, err := s.client.Txn(ctx).If(batches[i].guards...).Then(batches[i].ops...).Commit()
		switch {
		case err != nil:
			return 0, writeError(err)
		case !resp.Succeeded:
			return 0, ErrOtherWriter
		}
		rev = resp.Header.Revision
	}
	if len(batches) > 1 {
		if err := s.endUndo(); err != nil {
			return 0, err
		}
	}
	return rev, s.caughtUp(ctx, rev)
}

// rewriteBatch is a transaction of Rewrite.
type rewriteBatch struct {
	guards []clientv3.Cmp
	ops    []clientv3.Op
	bytes  int
}

// rewriteBatches returns the transactions of a step.
func (s *Store) rewriteBatches(ctx context.Context, step Rewrite) ([]rewriteBatch, error) {
	var out []rewriteBatch
	add := func(size int, guard []clientv3.Cmp, op clientv3.Op) {
		if n := len(out); n == 0 || len(out[n-1].ops) == MaxBatch || out[n-1].bytes+size > rewriteBytes {
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

// undoFile is the file in the data directory of an embedded etcd with the revision to which the next start goes back. It exists
// while Rewrite writes several transactions.
const undoFile = "undo-rewrite"

func (s *Store) undoPath() string {
	if s.embedded == nil || s.opts.Ephemeral {
		return ""
	}
	return filepath.Join(s.opts.Dir, undoFile)
}

func (s *Store) beginUndo(rev int64) error {
	path := s.undoPath()
	if path == "" {
		return nil
	}
	return safefile.Write(path, []byte(strconv.FormatInt(rev, 10)), 0o600, true)
}

func (s *Store) endUndo() error {
	path := s.undoPath()
	if path == "" {
		return nil
	}
	return os.Remove(path)
}

// undoRewrite undoes what a Rewrite wrote before the process ended in the middle of it.
func (s *Store) undoRewrite(ctx context.Context) error {
	path := s.undoPath()
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	rev, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %w; remove the file to keep the present state", path, err)
	}
	if err := s.restoreRevision(ctx, rev); err != nil {
		return fmt.Errorf("undoing a rewind that was interrupted: %w; remove %s to keep the present state", err, path)
	}
	s.log.Warn("undid a rewind that was interrupted", "revision", rev)
	return os.Remove(path)
}

// restoreRevision makes all keys below the prefix what they were at a revision.
func (s *Store) restoreRevision(ctx context.Context, rev int64) error {
	now := map[string]*mvccpb.KeyValue{}
	if _, err := s.scan(ctx, s.opts.Prefix+"/", 0, false, func(kv *mvccpb.KeyValue) { now[string(kv.Key)] = kv }); err != nil {
		return err
	}
	var ops []clientv3.Op
	if _, err := s.scan(ctx, s.opts.Prefix+"/", rev, false, func(kv *mvccpb.KeyValue) {
		key := string(kv.Key)
		if is := now[key]; kv.Lease == 0 && (is == nil || is.ModRevision != kv.ModRevision) { // a lease may have ended
			ops = append(ops, clientv3.OpPut(key, string(kv.Value)))
		}
		delete(now, key)
	}); err != nil {
		return err
	}
	for key := range now {
		ops = append(ops, clientv3.OpDelete(key))
	}
	for len(ops) > 0 {
		n, size := 0, 0
		for n < len(ops) && n < MaxBatch && (n == 0 || size+len(ops[n].ValueBytes()) <= rewriteBytes) {
			size += len(ops[n].ValueBytes())
			n++
		}
		if _, err := s.client.Txn(ctx).Then(ops[:n]...).Commit(); err != nil {
			return writeError(err)
		}
		ops = ops[n:]
	}
	return nil
}
