package storage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// compactKey is the key by which servers that share an etcd, including kube-apiservers,
// elect the one that compacts. Its version counts the compactions, and its value is the
// revision of the last one.
const compactKey = "compact_rev_key"

// compactionState is the state of one server between two compactions.
type compactionState struct {
	version int64 // of compactKey, when it was last read
	rev     int64 // etcd's revision at that time
}

// compactPeriodically compacts for the first time after two intervals: the first call finds the revision
// that the second one compacts to, and the start writes nothing.
func (s *Store) compactPeriodically() {
	tick := time.NewTicker(s.opts.CompactionInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
		if err := s.compactOnce(s.ctx); err != nil && s.ctx.Err() == nil {
			s.log.Warn("etcd compaction failed", "error", err)
		}
	}
}

// compactOnce compacts the history from before the previous call, unless another server has
// compacted since then.
func (s *Store) compactOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	rev := s.compact.rev
	ours, err := s.electCompactor(ctx, rev)
	if errors.Is(err, rpctypes.ErrNoSpace) {
		// The key cannot be written, and only a compaction frees space. It does no harm if
		// other servers compact too.
		ours = true
		s.compact.rev, err = s.readRevision(ctx)
	}
	if err != nil {
		return fmt.Errorf("agreeing on a compaction: %w", err)
	}
	if !ours || rev == 0 { // in the first call the age of revisions is unknown
		return nil
	}
	start := time.Now()
	if _, err := s.client.Compact(ctx, rev, clientv3.WithCompactPhysical()); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return fmt.Errorf("compacting to revision %d: %w", rev, err)
	}
	s.metrics.compaction.Observe(float64(time.Since(start).Milliseconds()))
	s.noteCompaction(rev)
	if s.embedded != nil {
		return s.embedded.defragment(ctx, s.opts.QuotaBytes)
	}
	return nil
}

// CompactNow compacts the history of etcd to the present. Reads and watches of earlier states fail from then on.
func (s *Store) CompactNow(ctx context.Context) error {
	rev, err := s.Revision(ctx)
	if err != nil {
		return err
	}
	if err := s.caughtUp(ctx, rev); err != nil {
		return err
	}
	if _, err := s.client.Compact(ctx, rev); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return fmt.Errorf("compacting to revision %d: %w", rev, err)
	}
	s.noteCompaction(rev)
	for {
		oldest := s.oldestWatch.Load()
		if oldest >= rev || s.oldestWatch.CompareAndSwap(oldest, rev) {
			return nil
		}
	}
}

// electCompactor reports whether this server has to compact to rev. The server that finds the
// key at the version that it read last increments the version and compacts; the others read
// the new version.
func (s *Store) electCompactor(ctx context.Context, rev int64) (bool, error) {
	resp, err := s.client.Txn(ctx).
		If(clientv3.Compare(clientv3.Version(compactKey), "=", s.compact.version)).
		Then(clientv3.OpPut(compactKey, strconv.FormatInt(rev, 10))).
		Else(clientv3.OpGet(compactKey)).Commit()
	if err != nil {
		return false, err
	}
	s.compact.rev = resp.Header.Revision
	if resp.Succeeded {
		s.compact.version++
		return true, nil
	}
	s.compact.version = 0
	if kv := firstKeyValue((*pb.TxnResponse)(resp)); kv != nil {
		s.compact.version = kv.Version
		if rev, err := strconv.ParseInt(string(kv.Value), 10, 64); err == nil {
			s.noteCompaction(rev)
		}
	}
	return false, nil
}

// noteCompaction records that revisions before rev were compacted, and drops the cached
// states of such revisions.
func (s *Store) noteCompaction(rev int64) {
	if rev <= s.compacted.Load() {
		return
	}
	s.compacted.Store(rev)
	s.applyMu.Lock()
	defer s.applyMu.Unlock()
	for _, c := range s.routes {
		c.dropCachedStates(rev)
	}
}
