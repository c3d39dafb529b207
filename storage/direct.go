package storage

import (
	"context"
	"errors"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

// The two operations that nearly every request to an embedded etcd needs, a write and the
// watch, call the server directly. An in-process client would copy values three times and
// pass each event through four goroutines. So does the load of the caches: with a request for
// each page, etcd would count all further keys at every page.

// transactEmbedded executes w, which writes no fences, as the server's own request handler would.
// Its results are the results of transactRemote.
func (s *Store) transactEmbedded(ctx context.Context, w *keyWrite) (int64, *mvccpb.KeyValue, error) {
	e := s.embedded
	key := []byte(w.key)
	// One allocation for all messages, because they have the same lifetime.
	m := &struct {
		request  pb.TxnRequest
		compares [1 + maxFences]revisionCompare
		put      pb.PutRequest
		remove   pb.DeleteRangeRequest
		read     pb.RangeRequest
		then     pb.RequestOp
		or       pb.RequestOp
		all      [1 + maxFences]*pb.Compare
		ops      [2]*pb.RequestOp
	}{}
	m.all[0] = m.compares[0].set(key, w.expectedRev)
	for i, name := range w.absent {
		m.all[1+i] = m.compares[1+i].set(s.fenceKey(name), 0)
	}
	m.ops[0], m.ops[1] = &m.then, &m.or
	m.request.Compare, m.request.Success = m.all[:1+len(w.absent)], m.ops[:1]
	if w.op == opDelete {
		m.remove.Key = key
		m.then.Request = &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &m.remove}
	} else {
		m.put.Key, m.put.Value, m.put.Lease = key, w.stored, int64(w.lease)
		m.then.Request = &pb.RequestOp_RequestPut{RequestPut: &m.put}
	}
	if w.expectedRev != 0 || len(w.absent) > 0 { // else only the existence of the key can be the reason
		m.read.Key, m.read.KeysOnly = key, w.expectedRev == 0
		m.or.Request = &pb.RequestOp_RequestRange{RequestRange: &m.read}
		m.request.Failure = m.ops[1:]
	}
	resp, err := e.kv.Txn(ctx, &m.request)
	if err != nil {
		return 0, nil, clientv3.ContextError(ctx, err)
	}
	e.acked.note(resp.Header.Revision)
	if resp.Succeeded {
		return resp.Header.Revision, nil, nil
	}
	return 0, firstKeyValue(resp), nil
}

// revisionCompare compares the revision of a key.
type revisionCompare struct {
	compare pb.Compare
	at      pb.Compare_ModRevision
}

func (c *revisionCompare) set(key []byte, revision int64) *pb.Compare {
	c.at.ModRevision = revision
	c.compare.Result, c.compare.Target, c.compare.Key, c.compare.TargetUnion = pb.Compare_EQUAL, pb.Compare_MOD, key, &c.at
	return &c.compare
}

// follow applies the events of the server's watch of all keys until ctx ends.
func (e *embeddedEtcd) follow(ctx context.Context, s *Store) error {
	stream := e.server.Watchable().NewWatchStream()
	defer stream.Close()
	from, noEnd := []byte{0}, []byte{}
	if _, err := stream.Watch(ctx, clientv3.AutoWatchID, from, noEnd, s.applied.rev.Load()+1); err != nil {
		return err
	}
	s.noteWatchStarted()
	var events []*mvccpb.Event
	for {
		select {
		case resp := <-stream.Chan():
			if resp.CompactRevision != 0 {
				return rpctypes.ErrCompacted
			}
			events = append(events, resp.Events...)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		// Events that are already queued are applied together, because every published state
		// of a collection copies some nodes of its tree.
		const maxBatch = 128
		if len(stream.Chan()) == 0 || len(events) >= maxBatch {
			s.apply(events)
			clear(events)
			events = events[:0]
		}
	}
}

// page is remotePage for the server in this process. What the server has applied includes all acknowledged writes, since it
// acknowledges what it has applied.
func (e *embeddedEtcd) page(ctx context.Context, from, end string, rev int64, keysOnly bool) (*pb.RangeResponse, error) {
	tx := e.server.KV().Read(mvcc.ConcurrentReadTxMode, traceutil.TODO())
	defer tx.End()
	got, err := tx.Range(ctx, []byte(from), []byte(end), mvcc.RangeOptions{Limit: loadPage, Rev: rev, FastKeysOnly: keysOnly})
	switch {
	case errors.Is(err, mvcc.ErrCompacted):
		return nil, rpctypes.ErrCompacted
	case err != nil:
		return nil, err
	}
	e.acked.note(got.Rev)
	return &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: got.Rev}, Kvs: got.KVs, More: len(got.KVs) == loadPage}, nil
}
