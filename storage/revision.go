package storage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/miniapiserver/miniapiserver/internal/monotonic"
)

// sharedRequest merges concurrent requests for the same answer. A caller that arrives while a
// request is in flight gets the answer of the next one, because the one in flight may have
// been answered before the caller asked.
type sharedRequest struct {
	mu      sync.Mutex
	running *requestFlight // in flight
	next    *requestFlight // starts when run is done
}

type requestFlight struct {
	done chan struct{}
	rev  int64
	err  error
}

// do returns the result of a call of ask that began after the call of do. spawn runs a
// function in a goroutine.
func (s *sharedRequest) do(ctx context.Context, spawn func(func()), ask func() (int64, error)) (int64, error) {
	f, first := s.join()
	if first {
		spawn(func() { s.runFlights(f, ask) })
	}
	select {
	case <-f.done:
		return f.rev, f.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// join returns the flight that starts after now, and whether the caller has to start it.
func (s *sharedRequest) join() (f *requestFlight, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		return s.next, false
	}
	f = &requestFlight{done: make(chan struct{})}
	if s.running == nil {
		s.running = f
		return f, true
	}
	s.next = f
	return f, false
}

func (s *sharedRequest) runFlights(f *requestFlight, ask func() (int64, error)) {
	for f != nil {
		f.rev, f.err = ask()
		close(f.done)
		s.mu.Lock()
		s.running, s.next = s.next, nil
		f = s.running
		s.mu.Unlock()
	}
}

// quorumTimeout is the maximum duration of a request for the current revision.
const quorumTimeout = 5 * time.Second

// Revision returns an etcd revision that is at least that of every write acknowledged, by
// any server, before the call.
func (s *Store) Revision(ctx context.Context) (int64, error) {
	if s.ctx.Err() != nil {
		return 0, ErrClosed
	}
	if s.local != nil {
		return s.applied.rev.Load(), nil
	}
	if !s.isConnected() {
		return 0, fmt.Errorf("%w: %w", ErrUnavailable, errNotConnected)
	}
	if s.embedded != nil {
		rev, err := s.embedded.revision()
		return max(rev, s.applied.rev.Load()), err
	}
	return s.quorum.do(ctx, s.spawn, func() (int64, error) {
		ctx, cancel := context.WithTimeout(s.ctx, quorumTimeout)
		defer cancel()
		return hedgedCall(ctx, s.spawn, hedgeAfter, s.readRevision)
	})
}

// readRevision returns the current revision by a linearizable read of a key that never
// exists.
func (s *Store) readRevision(ctx context.Context) (int64, error) {
	resp, err := s.client.Get(ctx, s.opts.Prefix+"/health")
	if err != nil {
		return 0, s.readError(err)
	}
	return resp.Header.Revision, nil
}

var errNotConnected = errors.New("etcd client connection not yet established")

// Healthy returns nil if etcd answers linearizable reads. Concurrent callers share one read,
// so that health checks by unauthenticated clients cannot overload etcd.
func (s *Store) Healthy(ctx context.Context) error {
	if s.ctx.Err() != nil {
		return ErrClosed
	}
	if !s.isConnected() {
		return errNotConnected
	}
	_, err := s.health.do(ctx, s.spawn, func() (int64, error) {
		ctx, cancel := context.WithTimeout(s.ctx, quorumTimeout)
		defer cancel()
		return s.readRevision(ctx)
	})
	if err != nil {
		return fmt.Errorf("error getting data from etcd: %w", err)
	}
	return nil
}

// caughtUp returns when the cache has applied rev. The watch of an embedded etcd covers all
// keys, so it always reaches rev. With an external etcd, changes outside the prefix produce
// no events, so caughtUp requests progress notifications.
func (s *Store) caughtUp(ctx context.Context, rev int64) error {
	if s.applied.rev.Load() >= rev {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(s.ctx, func() { cancel(ErrClosed) })
	defer stop()
	if s.embedded != nil {
		return s.applied.wait(ctx, rev)
	}
	for wait := 5 * time.Millisecond; ; wait = progressEvery {
		step, cancel := context.WithTimeout(ctx, wait)
		err := s.applied.wait(step, rev)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s.requestProgress()
		if s.silence.timedOut() {
			s.log.Warn("etcd watch does not respond, starting another")
			if cut := s.cancelWatch.Load(); cut != nil {
				(*cut)()
			}
		}
	}
}

// progressEvery is the minimum interval between progress requests.
const progressEvery = 50 * time.Millisecond

func (s *Store) requestProgress() {
	now := monotonic.Now()
	last := s.progressRequested.Load()
	f := s.remoteWatch.Load()
	if f == nil || now-last < int64(progressEvery)/2 || !s.progressRequested.CompareAndSwap(last, now) {
		return
	}
	s.silence.noteRequest()
	if err := f.watcher.RequestProgress(f.ctx); err != nil {
		s.log.Debug("etcd progress request failed", "error", err)
	}
}

// isConnected reports whether Connect succeeded.
func (s *Store) isConnected() bool {
	select {
	case <-s.connected:
		return true
	default:
		return false
	}
}

// newestRevision is the newest of the revisions that were noted.
type newestRevision struct{ rev atomic.Int64 }

func (n *newestRevision) note(rev int64) {
	for {
		old := n.rev.Load()
		if rev <= old || n.rev.CompareAndSwap(old, rev) {
			return
		}
	}
}

// ackingKV records the revision of every response before it returns the response.
type ackingKV struct {
	clientv3.KV
	*newestRevision
}

// Do implements clientv3.KV.
func (k ackingKV) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	resp, err := k.KV.Do(ctx, op)
	if err != nil {
		return resp, err
	}
	switch {
	case op.IsPut():
		k.note(resp.Put().Header.Revision)
	case op.IsGet():
		k.note(resp.Get().Header.Revision)
	case op.IsDelete():
		k.note(resp.Del().Header.Revision)
	case op.IsTxn():
		k.note(resp.Txn().Header.Revision)
	}
	return resp, nil
}

// Put implements clientv3.KV.
func (k ackingKV) Put(ctx context.Context, key, value string, opts ...clientv3.OpOption) (*clientv3.PutResponse, error) {
	resp, err := k.KV.Put(ctx, key, value, opts...)
	if err == nil {
		k.note(resp.Header.Revision)
	}
	return resp, err
}

// Get implements clientv3.KV.
func (k ackingKV) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	resp, err := k.KV.Get(ctx, key, opts...)
	if err == nil {
		k.note(resp.Header.Revision)
	}
	return resp, err
}

// Delete implements clientv3.KV.
func (k ackingKV) Delete(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	resp, err := k.KV.Delete(ctx, key, opts...)
	if err == nil {
		k.note(resp.Header.Revision)
	}
	return resp, err
}

// Txn implements clientv3.KV.
func (k ackingKV) Txn(ctx context.Context) clientv3.Txn {
	return ackingTxn{k.KV.Txn(ctx), k.newestRevision}
}

type ackingTxn struct {
	clientv3.Txn
	*newestRevision
}

// If implements clientv3.Txn.
func (t ackingTxn) If(c ...clientv3.Cmp) clientv3.Txn {
	return ackingTxn{t.Txn.If(c...), t.newestRevision}
}

// Then implements clientv3.Txn.
func (t ackingTxn) Then(o ...clientv3.Op) clientv3.Txn {
	return ackingTxn{t.Txn.Then(o...), t.newestRevision}
}

// Else implements clientv3.Txn.
func (t ackingTxn) Else(o ...clientv3.Op) clientv3.Txn {
	return ackingTxn{t.Txn.Else(o...), t.newestRevision}
}

// Commit implements clientv3.Txn.
func (t ackingTxn) Commit() (*clientv3.TxnResponse, error) {
	resp, err := t.Txn.Commit()
	if err == nil {
		t.note(resp.Header.Revision)
	}
	return resp, err
}

// ackingLease records the revision at which the revocation of a lease deleted its keys.
type ackingLease struct {
	clientv3.Lease
	*newestRevision
}

// Revoke implements clientv3.Lease.
func (l ackingLease) Revoke(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseRevokeResponse, error) {
	resp, err := l.Lease.Revoke(ctx, id)
	if err == nil {
		l.note(resp.Header.Revision)
	}
	return resp, err
}
