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
	request := &pb.TxnRequest{
		Compare: []*pb.Compare{{Result: pb.Compare_EQUAL, Target: pb.Compare_MOD, Key: key,
			TargetUnion: &pb.Compare_ModRevision{ModRevision: w.at}}},
		Failure: []*pb.RequestOp{{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: key}}}},
	}
	if w.remove {
		request.Success = []*pb.RequestOp{{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: key}}}}
	} else {
		put := &pb.PutRequest{Key: key, Value: w.value, Lease: int64(w.lease)}
		request.Success = []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: put}}}
	}
	resp, err := e.kv.Txn(ctx, request)
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
