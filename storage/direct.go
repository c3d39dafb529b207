package storage

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// What nearly every request needs of an embedded etcd, a write and the watch,
// is asked of the server itself: on the way through a client in the same
// process, values are copied three times and each event passes four goroutines.

// transact runs w as the server's own handler of requests would.
func (e *embedded) transact(ctx context.Context, w *write) (int64, *mvccpb.KeyValue, error) {
	key := []byte(w.key)
	// The messages are one allocation, as they live and die together.
	m := &struct {
		request pb.TxnRequest
		guard   pb.Compare
		at      pb.Compare_ModRevision
		put     pb.PutRequest
		remove  pb.DeleteRangeRequest
		read    pb.RangeRequest
		then    pb.RequestOp
		or      pb.RequestOp
		guards  [1]*pb.Compare
		ops     [2]*pb.RequestOp
	}{}
	m.at.ModRevision = w.at
	m.guard.Result, m.guard.Target, m.guard.Key, m.guard.TargetUnion = pb.Compare_EQUAL, pb.Compare_MOD, key, &m.at
	m.guards[0], m.ops[0], m.ops[1] = &m.guard, &m.then, &m.or
	m.request.Compare, m.request.Success = m.guards[:], m.ops[:1]
	if w.remove {
		m.remove.Key = key
		m.then.Request = &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &m.remove}
	} else {
		m.put.Key, m.put.Value, m.put.Lease = key, w.value, int64(w.lease)
		m.then.Request = &pb.RequestOp_RequestPut{RequestPut: &m.put}
	}
	if w.at != 0 { // who creates does not ask what is there instead
		m.read.Key = key
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
	return 0, found(resp), nil
}

// follow applies what the server's watch of everything brings, until ctx ends.
func (e *embedded) follow(ctx context.Context, s *Store) error {
	stream := e.server.Watchable().NewWatchStream()
	defer stream.Close()
	from, noEnd := []byte{0}, []byte{}
	if _, err := stream.Watch(ctx, clientv3.AutoWatchID, from, noEnd, s.applied.current()+1); err != nil {
		return err
	}
	s.begun()
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
		// Changes that are there already are published together, for each time
		// that a collection is published costs it some nodes of its tree.
		const most = 128
		if len(stream.Chan()) == 0 || len(events) >= most {
			s.apply(events)
			clear(events)
			events = events[:0]
		}
	}
}
