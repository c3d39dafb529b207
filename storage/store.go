package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// Store is one etcd, the one watch on it, and the collections that the watch
// feeds. It owns all goroutines of the package; Close ends them.
type Store struct {
	opts     Options
	log      *slog.Logger
	embedded *embedded // nil with an external etcd
	client   *clientv3.Client

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	fatal  chan error
	closed sync.Once
	result error // of Close

	wg      sync.WaitGroup
	spawnMu sync.Mutex // guards ended, so that nothing is added to wg after it
	ended   bool

	// applyMu is held while changes are applied, and while the set of
	// collections or what the cache holds is changed as a whole.
	applyMu sync.Mutex
	routes  map[string]*Collection // by prefix
	started bool

	connected chan struct{} // closed once client and, with it, embedded are set
	watching  chan struct{} // closed once the etcd watch was begun for the first time
	applied   progress      // the revision that all caches have reached
	quorum    shared
	health    shared
	asked     atomic.Int64 // when progress was last asked for
	following atomic.Pointer[following]
	cut       atomic.Pointer[context.CancelFunc] // ends the current etcd watch
	silence   silence                            // of that watch
	leases    leases
	compact   compactor    // of compactPeriodically alone
	compacted atomic.Int64 // the oldest revision that etcd still has, as far as known
	oldest    atomic.Int64 // the oldest revision that a watch can start from
	wasEmpty  bool         // Start found nothing
}

// NewStore makes a store that is not connected yet: see Connect.
func NewStore(o Options) *Store {
	o = o.withDefaults()
	o.Prefix = "/" + strings.Trim(o.Prefix, "/")
	s := &Store{opts: o, log: o.Logger, routes: map[string]*Collection{}, fatal: make(chan error, 1),
		connected: make(chan struct{}), watching: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Connect starts the embedded etcd or connects to the external one. Of these,
// only an external etcd that gives no answer is worth another try, which the
// error then says by being ErrNoAnswer. The store reads nothing yet: see Start.
func (s *Store) Connect(ctx context.Context) error {
	client, embedded := (*clientv3.Client)(nil), (*embedded)(nil)
	var err error
	if len(s.opts.Servers) > 0 {
		client, err = dial(ctx, &s.opts)
	} else if embedded, err = startEmbedded(ctx, &s.opts, s.die); err == nil {
		client = embedded.client
	}
	if err != nil {
		return err
	}
	s.spawnMu.Lock()
	ended := s.ended
	if !ended {
		s.client, s.embedded = client, embedded
		close(s.connected)
	}
	s.spawnMu.Unlock()
	switch {
	case ended && embedded != nil:
		return errors.Join(ErrClosed, embedded.close())
	case ended:
		return errors.Join(ErrClosed, client.Close())
	case embedded != nil:
		s.spawn(s.watchServer)
	}
	return nil
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

// Open is NewStore and Connect.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := NewStore(o)
	if err := s.Connect(ctx); err != nil {
		s.cancel()
		return nil, err
	}
	return s, nil
}

// Start reads everything below the prefix once and begins to follow it; it
// returns when the caches are complete.
func (s *Store) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(s.ctx, func() { cancel(ErrClosed) })
	defer stop()
	s.applyMu.Lock()
	defer s.applyMu.Unlock()
	if s.ctx.Err() != nil {
		return ErrClosed
	}
	if s.started {
		return errors.New("storage: started already")
	}
	if !s.isConnected() {
		return errNotConnected
	}
	if err := s.load(ctx); err != nil {
		return fmt.Errorf("loading the cache: %w", err)
	}
	s.started = true
	s.spawn(s.follow)
	// A watch that begins before the next write has no history to read, which
	// etcd does only every 100 ms.
	select {
	case <-s.watching:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if s.opts.CompactionInterval > 0 {
		s.spawn(s.compactPeriodically)
	}
	return nil
}

// firstWritten is the revision of the first write to an etcd. Nothing can have
// been read at an earlier one.
const firstWritten = 2

// EndBootstrap is called after the writes that a server makes at its start, before
// it serves. No watch can start from an earlier revision from now on if Start found
// nothing, since no client can have read one. kube-apiserver's watch caches do not
// reach back to that time either.
func (s *Store) EndBootstrap() {
	s.applyMu.Lock()
	defer s.applyMu.Unlock()
	s.oldest.Store(firstWritten)
	if s.wasEmpty {
		s.oldest.Store(s.applied.current())
	}
}

// Close ends all watches and goroutines and stops the embedded etcd.
func (s *Store) Close() error {
	s.closed.Do(func() {
		s.cancel() // first, for what holds the lock may be waiting for etcd
		s.applyMu.Lock()
		for _, c := range s.routes {
			c.endWatches(ErrClosed)
		}
		s.applyMu.Unlock()
		s.spawnMu.Lock()
		s.ended = true
		s.spawnMu.Unlock()
		s.wg.Wait()
		switch {
		case !s.isConnected():
		case s.embedded != nil:
			s.result = s.embedded.close()
		default:
			s.result = s.client.Close()
		}
	})
	return s.result
}

// Client is the connection to etcd that the store uses.
func (s *Store) Client() *clientv3.Client { return s.client }

// Err tells when the embedded etcd cannot go on; the store is of no more use
// then and should be closed.
func (s *Store) Err() <-chan error { return s.fatal }

// spawn runs f in a goroutine that Close waits for. After Close it runs f at
// once: s.ctx is done then, so that f does not take long.
func (s *Store) spawn(f func()) {
	s.spawnMu.Lock()
	if s.ended {
		s.spawnMu.Unlock()
		f()
		return
	}
	s.wg.Add(1)
	s.spawnMu.Unlock()
	go func() {
		recovery.Keep(s.ctx, s.log, "storage", f)
		s.wg.Done()
	}()
}

func (s *Store) die(err error) {
	select {
	case s.fatal <- err:
	default:
	}
}

// watchServer tells of an embedded etcd that stops by itself.
func (s *Store) watchServer() {
	select {
	case <-s.ctx.Done():
	case <-s.embedded.server.StopNotify():
		s.die(errors.New("etcd has stopped"))
	}
}

// readError is the function of that name, but that everything fails in a way
// of its own once the store is closed.
func (s *Store) readError(err error) error {
	if err != nil && s.ctx.Err() != nil {
		return ErrClosed
	}
	return readError(err)
}
