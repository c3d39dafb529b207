package storage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// shared makes one request serve all who ask at about the same time. Who comes
// while a request is under way gets the answer of the next one, since the
// answer to the one under way may be older than their question.
type shared struct {
	mu   sync.Mutex
	run  *flight // under way
	next *flight // begins when run is done
}

type flight struct {
	done chan struct{}
	rev  int64
	err  error
}

// do returns what ask gave when it was called after the call of do. spawn runs
// a function in a goroutine.
func (s *shared) do(ctx context.Context, spawn func(func()), ask func() (int64, error)) (int64, error) {
	f, first := s.join()
	if first {
		spawn(func() { s.fly(f, ask) })
	}
	select {
	case <-f.done:
		return f.rev, f.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// join returns the flight that begins after now, and whether the caller is to
// begin it.
func (s *shared) join() (f *flight, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		return s.next, false
	}
	f = &flight{done: make(chan struct{})}
	if s.run == nil {
		s.run = f
		return f, true
	}
	s.next = f
	return f, false
}

func (s *shared) fly(f *flight, ask func() (int64, error)) {
	for f != nil {
		f.rev, f.err = ask()
		close(f.done)
		s.mu.Lock()
		s.run, s.next = s.next, nil
		f = s.run
		s.mu.Unlock()
	}
}

// quorumTimeout bounds a request for the current revision.
const quorumTimeout = 5 * time.Second

// Revision is a revision of etcd that is not older than that of any write that
// was acknowledged, to anybody, before the call.
func (s *Store) Revision(ctx context.Context) (int64, error) {
	if s.ctx.Err() != nil {
		return 0, ErrClosed
	}
	if !s.isConnected() {
		return 0, fmt.Errorf("%w: %w", ErrUnavailable, errNotConnected)
	}
	if s.embedded != nil {
		rev, err := s.embedded.revision()
		return max(rev, s.applied.current()), err
	}
	return s.quorum.do(ctx, s.spawn, func() (int64, error) {
		ctx, cancel := context.WithTimeout(s.ctx, quorumTimeout)
		defer cancel()
		return hedged(ctx, s.spawn, hedgeAfter, s.readRevision)
	})
}

// readRevision asks for the current revision by a linearizable read of a key
// that is never there.
func (s *Store) readRevision(ctx context.Context) (int64, error) {
	resp, err := s.client.Get(ctx, s.opts.Prefix+"/health")
	if err != nil {
		return 0, s.readError(err)
	}
	return resp.Header.Revision, nil
}

var errNotConnected = errors.New("etcd client connection not yet established")

// Healthy returns nil if etcd answers linearizable reads. Callers that ask at
// the same time share one read, so that anybody may ask.
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

// caughtUp returns when the cache has applied rev. The cache of an embedded
// etcd watches everything, so it always gets there; with one that is shared,
// changes outside the prefix go unseen, and etcd is asked to say how far the
// watch is.
func (s *Store) caughtUp(ctx context.Context, rev int64) error {
	if s.applied.current() >= rev {
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
		if s.silence.broken() {
			s.log.Warn("the watch on etcd says nothing, beginning another")
			if cut := s.cut.Load(); cut != nil {
				(*cut)()
			}
		}
	}
}

// progressEvery is how often etcd is asked, at most, how far the watch is.
const progressEvery = 50 * time.Millisecond

func (s *Store) requestProgress() {
	now := time.Now().UnixNano()
	last := s.asked.Load()
	f := s.following.Load()
	if f == nil || now-last < int64(progressEvery)/2 || !s.asked.CompareAndSwap(last, now) {
		return
	}
	s.silence.ask()
	if err := f.watcher.RequestProgress(f.ctx); err != nil {
		s.log.Debug("asking etcd for progress", "error", err)
	}
}
