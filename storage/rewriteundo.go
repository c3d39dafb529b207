package storage

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// A Rewrite of several transactions is undone if one of them fails, or if the process ends between them. Its first transaction writes the
// revision before it to a key, and its last one empties the key.
//
// A transaction whose outcome is unknown may take effect later. Each one therefore requires that the key is at the revision
// that the caller knows, and an undo begins with a new revision of the key: from then on no earlier transaction has an effect.

// undoKey is the key below Options.Prefix with the revision to which a Rewrite is undone. It is empty if there is nothing to undo.
// No collection has it.
const undoKey = "/undo-rewrite"

// undoPause is the time between attempts to undo a Rewrite.
const undoPause = 100 * time.Millisecond

// failedRewrite is a Rewrite that failed: the revision before it, and the keys that it may have written.
type failedRewrite struct {
	before int64
	keys   map[string]bool
	undone chan struct{} // closed when writes may continue
}

func keysOf(batches []rewriteBatch) map[string]bool {
	keys := map[string]bool{}
	for i := range batches {
		for _, op := range batches[i].ops {
			keys[string(op.KeyBytes())] = true
		}
	}
	return keys
}

// undoIsAt is the condition that undoKey is at a revision.
func (s *Store) undoIsAt(rev int64) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(s.opts.Prefix+undoKey), "=", rev)
}

func (s *Store) putUndo(value string) clientv3.Op {
	return clientv3.OpPut(s.opts.Prefix+undoKey, value)
}

// readUndo returns the value and the revision of undoKey. Of an embedded etcd it reads the data, since a read that etcd has to confirm
// fails for a moment after the start.
func (s *Store) readUndo(ctx context.Context) (value string, rev int64, err error) {
	key := s.opts.Prefix + undoKey
	_, err = s.scan(ctx, key, 0, false, func(kv *mvccpb.KeyValue) {
		if string(kv.Key) == key {
			value, rev = string(kv.Value), kv.ModRevision
		}
	})
	return value, rev, err
}

// markUndo adds to the first of several transactions the revision to which they are undone, and to the last one that they are complete.
func (s *Store) markUndo(ctx context.Context, before int64, batches []rewriteBatch) error {
	value, rev, err := s.readUndo(ctx)
	switch {
	case err != nil:
		return err
	case value != "":
		return ErrOtherWriter
	}
	first, last := &batches[0], &batches[len(batches)-1]
	first.guards = append(first.guards, s.undoIsAt(rev))
	first.ops = append(first.ops, s.putUndo(strconv.FormatInt(before, 10)))
	last.ops = append(last.ops, s.putUndo(""))
	return nil
}

// retryUndo undoes a Rewrite as soon as etcd can be written again, and lets writes continue.
func (s *Store) retryUndo(failed *failedRewrite) {
	for {
		rev, err := s.undo(s.ctx, failed.before, failed.keys)
		if err == nil {
			err = s.caughtUp(s.ctx, rev)
		}
		if err == nil {
			break
		}
		select {
		case <-time.After(undoPause):
		case <-s.ctx.Done():
			return // the next start undoes it
		}
	}
	s.log.Warn("undid a rewind that failed", "revision", failed.before)
	s.writes.Lock()
	s.failedRewrite = nil
	s.rewrites.Add(1)
	s.writes.Unlock()
	close(failed.undone)
}

// undoInterrupted undoes what a Rewrite wrote before a process ended in the middle of it.
func (s *Store) undoInterrupted(ctx context.Context) error {
	value, _, err := s.readUndo(ctx)
	if err != nil || value == "" {
		return err
	}
	before, err := strconv.ParseInt(value, 10, 64)
	if err == nil {
		_, err = s.undo(ctx, before, nil)
	}
	if err != nil {
		const text = "undoing a rewind that was interrupted: %w; empty the key %s in etcd to keep the present state"
		return fmt.Errorf(text, err, s.opts.Prefix+undoKey)
	}
	s.log.Warn("undid a rewind that was interrupted", "revision", before)
	return nil
}

// undo makes keys what they were at a revision; nil means all keys below the prefix. It returns the revision of the last write.
func (s *Store) undo(ctx context.Context, before int64, keys map[string]bool) (int64, error) {
	_, at, err := s.readUndo(ctx)
	if err != nil {
		return 0, err
	}
	if at, err = s.writeUndo(ctx, at, s.putUndo(strconv.FormatInt(before, 10))); err != nil {
		return 0, err
	}
	ops, err := s.undoOps(ctx, before, keys)
	if err != nil {
		return 0, err
	}
	for len(ops) > 0 {
		n, size := 0, 0
		for n < len(ops) && n < MaxBatch && (n == 0 || size+len(ops[n].ValueBytes()) <= rewriteBytes) {
			size += len(ops[n].ValueBytes())
			n++
		}
		if _, err := s.writeUndo(ctx, at, ops[:n]...); err != nil {
			return 0, err
		}
		ops = ops[n:]
	}
	return s.writeUndo(ctx, at, s.putUndo(""))
}

// writeUndo writes a transaction that requires undoKey to be at a revision, and returns the revision of the transaction.
func (s *Store) writeUndo(ctx context.Context, at int64, ops ...clientv3.Op) (int64, error) {
	resp, err := s.client.Txn(ctx).If(s.undoIsAt(at)).Then(ops...).Commit()
	switch {
	case err != nil:
		return 0, writeError(err)
	case !resp.Succeeded:
		return 0, ErrOtherWriter
	}
	return resp.Header.Revision, nil
}

// undoOps returns the operations that make keys what they were at a revision.
func (s *Store) undoOps(ctx context.Context, before int64, keys map[string]bool) ([]clientv3.Op, error) {
	selects := func(key string) bool {
		return key != s.opts.Prefix+undoKey && (keys == nil || keys[key])
	}
	now := map[string]*mvccpb.KeyValue{}
	if _, err := s.scan(ctx, s.opts.Prefix+"/", 0, false, func(kv *mvccpb.KeyValue) {
		if key := string(kv.Key); selects(key) {
			now[key] = kv
		}
	}); err != nil {
		return nil, err
	}
	var ops []clientv3.Op
	if _, err := s.scan(ctx, s.opts.Prefix+"/", before, false, func(kv *mvccpb.KeyValue) {
		key := string(kv.Key)
		if !selects(key) {
			return
		}
		if is := now[key]; kv.Lease == 0 && (is == nil || is.ModRevision != kv.ModRevision) { // a lease may have ended
			ops = append(ops, clientv3.OpPut(key, string(kv.Value)))
		}
		delete(now, key)
	}); err != nil {
		return nil, err
	}
	for key := range now {
		ops = append(ops, clientv3.OpDelete(key))
	}
	return ops, nil
}
