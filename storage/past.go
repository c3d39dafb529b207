package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// storedVersion is a revision of a key as etcd has it: encoded in its database, or decoded.
type storedVersion struct {
	revision   int64
	isDeletion bool
	encoded    []byte // valid only during a call of scanBack's function
	kv         *mvccpb.KeyValue
}

// key returns the key, without decoding the value.
func (v storedVersion) key() []byte {
	if v.kv != nil {
		return v.kv.Key
	}
	const keyField = 1 // of mvccpb.KeyValue; it is written first
	if number, kind, n := protowire.ConsumeTag(v.encoded); n > 0 && number == keyField && kind == protowire.BytesType {
		if key, m := protowire.ConsumeBytes(v.encoded[n:]); m > 0 {
			return key
		}
	}
	return nil
}

// keyValue returns the decoded version.
func (v storedVersion) keyValue() *mvccpb.KeyValue {
	if v.kv != nil {
		return v.kv
	}
	kv := &mvccpb.KeyValue{}
	if err := proto.Unmarshal(v.encoded, kv); err != nil {
		return &mvccpb.KeyValue{Key: slices.Clone(v.key())} // a value that cannot be decoded is a corrupt item
	}
	return kv
}

// firstRevision returns the revision to which the embedded etcd was compacted.
func (s *Store) firstRevision() int64 {
	if !s.hold() {
		return 0
	}
	defer s.wg.Done()
	return s.embedded.server.KV().FirstRev()
}

// scanBack calls f with all versions in the database of the embedded etcd from the revision newest down to that after oldest, until f
// returns false. It takes no lock of etcd: the pages that it reads stay as they are until it has read them.
func (s *Store) scanBack(ctx context.Context, newest, oldest int64, f func(storedVersion) bool) error {
	if !s.hold() { // the files of an embedded etcd are closed with the store
		return ErrClosed
	}
	defer s.wg.Done()
	const first, longest = 16, 1024
	for part := int64(first); newest > oldest; part = min(2*part, longest) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		from := max(oldest+1, newest-part+1, 1)
		if !s.embedded.eachBack(from, newest, f) {
			return nil
		}
		newest = from - 1
	}
	return nil
}

// eachBack calls f with all versions between two revisions, the newest first, until f returns false.
func (e *embeddedEtcd) eachBack(from, to int64, f func(storedVersion) bool) bool {
	tx := e.server.Backend().ConcurrentReadTx()
	tx.RLock()
	defer tx.RUnlock()
	begin := mvcc.RevToBytes(mvcc.Revision{Main: from}, mvcc.NewRevBytes())
	end := mvcc.RevToBytes(mvcc.Revision{Main: to + 1}, mvcc.NewRevBytes())
	for _, row := range slices.Backward(inOrder(tx.UnsafeRange(schema.Key, begin, end, 0))) {
		v := storedVersion{revision: mvcc.BytesToRev(row.revision).Main, isDeletion: mvcc.IsTombstone(row.revision), encoded: row.value}
		if !f(v) {
			return false
		}
	}
	return true
}

// storedRow is a row of etcd's database.
type storedRow struct{ revision, value []byte }

// inOrder returns rows that etcd read, in the order of their revisions, each once. After a commit to the file and before the next write,
// etcd reads the last rows twice: in the file, and in the copy of its buffer that it made before. Its own reads of several rows do not use
// that copy.
func inOrder(revisions, values [][]byte) []storedRow {
	rows := make([]storedRow, len(revisions))
	for i := range revisions {
		rows[i] = storedRow{revisions[i], values[i]}
	}
	compare := func(a, b storedRow) int { return bytes.Compare(a.revision, b.revision) }
	slices.SortFunc(rows, compare)
	return slices.CompactFunc(rows, func(a, b storedRow) bool { return compare(a, b) == 0 })
}

// pastReadTimeout is the maximum duration of reading the past by a watch.
const pastReadTimeout = 30 * time.Second

// eventsBetween calls f with the events of a key, or of what the options select, after the revision from, up to and including to.
// It reads them by a watch.
func (s *Store) eventsBetween(
	ctx context.Context, key string, from, to int64, f func(*clientv3.Event), options ...clientv3.OpOption,
) error {
	if from >= to {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pastReadTimeout)
	defer cancel()
	// Distinct metadata gives the watch its own gRPC stream, so that progress notifications
	// are for this watch.
	ctx = metadata.AppendToOutgoingContext(ctx, "history", fmt.Sprint(key, from))
	watch := s.client.Watch(ctx, key, append(options, clientv3.WithRev(from+1), clientv3.WithCreatedNotify())...)
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case resp, ok := <-watch:
			if !ok {
				return causeOr(ctx, ErrUnavailable)
			}
			if resp.CompactRevision > 0 || errors.Is(resp.Err(), rpctypes.ErrCompacted) {
				return &CompactedError{Wanted: from, Compacted: resp.CompactRevision}
			}
			if err := resp.Err(); err != nil {
				return s.readError(err)
			}
			for _, e := range resp.Events {
				if e.Kv.ModRevision > to {
					return nil
				}
				f(e)
			}
			if len(resp.Events) > 0 && resp.Events[len(resp.Events)-1].Kv.ModRevision >= to ||
				resp.IsProgressNotify() && resp.Header.Revision >= to {
				return nil
			}
			if !resp.Created {
				continue
			}
		case <-tick.C:
		}
		if err := s.client.RequestProgress(ctx); err != nil {
			return s.etcdReadError(ctx, err, from)
		}
	}
}

func (s *Store) etcdReadError(ctx context.Context, err error, rev int64) error {
	switch {
	case errors.Is(err, rpctypes.ErrCompacted):
		return &CompactedError{Wanted: rev, Compacted: s.compacted.Load()}
	case errors.Is(err, rpctypes.ErrFutureRev):
		return &FutureRevisionError{Wanted: rev, Current: s.newestKnown()}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return s.readError(err)
}
