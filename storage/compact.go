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

// compactKey is where the servers that share an etcd, kube-apiservers among
// them, agree on who compacts: its version counts the compactions, its value
// is the revision of the last one.
const compactKey = "compact_rev_key"

// compactor is what one server remembers from one compaction to the next.
type compactor struct {
	version int64 // of compactKey, when it was last seen
	rev     int64 // etcd's revision at that time
}

func (s *Store) compactPeriodically() {
	tick := time.NewTicker(s.opts.CompactionInterval)
	defer tick.Stop()
	for {
		if err := s.compactOnce(s.ctx); err != nil && s.ctx.Err() == nil {
			s.log.Warn("compacting etcd", "error", err)
		}
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
	}
}

// compactOnce drops the history from before the time of the call before it,
// unless another server has done so since.
func (s *Store) compactOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	rev := s.compact.rev
	ours, err := s.agree(ctx, rev)
	if errors.Is(err, rpctypes.ErrNoSpace) {
		// The key cannot be written; compacting is what helps, and does no
		// harm when others do it too.
		ours = true
		s.compact.rev, err = s.readRevision(ctx)
	}
	if err != nil {
		return fmt.Errorf("agreeing on a compaction: %w", err)
	}
	if !ours || rev == 0 { // the first time nobody knows how old anything is
		return nil
	}
	if _, err := s.client.Compact(ctx, rev, clientv3.WithCompactPhysical()); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return fmt.Errorf("compacting to revision %d: %w", rev, err)
	}
	s.noteCompaction(rev)
	if s.embedded != nil {
		return s.embedded.tidy(ctx, s.opts.QuotaBytes)
	}
	return nil
}

// agree tells whether this server is the one to compact to rev. Whoever finds
// the key at the version that it saw last raises it and compacts; the others
// learn the new version.
func (s *Store) agree(ctx context.Context, rev int64) (bool, error) {
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
	if kv := found((*pb.TxnResponse)(resp)); kv != nil {
		s.compact.version = kv.Version
		if rev, err := strconv.ParseInt(string(kv.Value), 10, 64); err == nil {
			s.noteCompaction(rev)
		}
	}
	return false, nil
}

// noteCompaction remembers which revisions are gone from etcd, and drops the
// states kept of them.
func (s *Store) noteCompaction(rev int64) {
	if rev <= s.compacted.Load() {
		return
	}
	s.compacted.Store(rev)
	s.applyMu.Lock()
	defer s.applyMu.Unlock()
	for _, c := range s.routes {
		c.forget(rev)
	}
}
