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

// Store is one etcd, the single watch on it, and the collections that the watch feeds. It
// owns all goroutines of the package; Close ends them.
type Store struct {
	opts     Options
	log      *slog.Logger
	embedded *embeddedEtcd // nil with an external etcd
	local    *localLog     // nil but for a store of NewLocal
	client   *clientv3.Client

	ctx         context.Context // ends with Close
	cancel      context.CancelFunc
	fatalErrors chan error
	closed      sync.Once
	result      error // returned by every call of Close

	wg      sync.WaitGroup
	spawnMu sync.Mutex // guards ended, so that no goroutine is added to wg after Close
	ended   bool

	// writes is held for reading by each write of a collection, and for writing by HoldWrites; see lockWrites.
	writes sync.RWMutex
	// failedRewrite is a Rewrite that is to be undone before writes continue. It changes while writes is held for writing.
	failedRewrite *failedRewrite
	// rewrites is the number of Rewrites. It changes while writes is held for writing.
	rewrites atomic.Int64

	// applyMu is held while events are applied, and while the set of collections or the
	// whole content of a cache changes.
	applyMu sync.Mutex
	routes  map[string]*Collection // by CollectionConfig.Prefix
	started bool

	connected         chan struct{}    // closed once client and embedded are set
	watchStarted      chan struct{}    // closed once the first etcd watch has started
	applied           revisionProgress // the revision that all caches have applied
	quorum            sharedRequest
	health            sharedRequest
	progressRequested atomic.Int64 // time of the last progress request, in Unix nanoseconds
	remoteWatch       atomic.Pointer[remoteWatch]
	cancelWatch       atomic.Pointer[context.CancelFunc] // ends the current etcd watch
	silence           watchSilence                       // whether that watch still responds
	leases            leasePool
	expiries          *expiries       // nil without Options.Clock
	compact           compactionState // used by compactPeriodically only
	compacted         atomic.Int64    // the newest compaction known, below which etcd has no history
	oldestWatch       atomic.Int64    // the oldest revision from which a watch can start
	metrics           *storeMetrics
}

// NewStore returns a store that is not connected; see Connect.
func NewStore(o Options) *Store {
	o = o.withDefaults()
	o.Prefix = "/" + strings.Trim(o.Prefix, "/")
	s := &Store{opts: o, log: o.Logger, routes: map[string]*Collection{}, fatalErrors: make(chan error, 1),
		connected: make(chan struct{}), watchStarted: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.metrics = newStoreMetrics(s)
	s.leases.keysOfLease, s.expiries = s.metrics.leaseKeys, newExpiries(s)
	return s
}

// Connect starts the embedded etcd or connects to the external one. An error that wraps
// ErrNoAnswer is worth a retry: an external etcd did not respond. Connect reads no keys; see
// Start.
func (s *Store) Connect(ctx context.Context) error {
	client, embedded := (*clientv3.Client)(nil), (*embeddedEtcd)(nil)
	var err error
	if len(s.opts.Servers) > 0 {
		client, err = dialEtcd(ctx, &s.opts)
	} else if embedded, err = startEmbedded(ctx, &s.opts, s.metrics.defragmentation, s.reportFatal); err == nil {
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
		s.spawn(s.awaitServerStop)
	}
	return nil
}

// Open calls NewStore and Connect, for callers that need no store before etcd is connected.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := NewStore(o)
	if err := s.Connect(ctx); err != nil {
		s.cancel()
		return nil, err
	}
	return s, nil
}

// Start reads all keys below the prefix and begins to follow them. It returns when the
// caches are complete.
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
		return errors.New("storage: already started")
	}
	if !s.isConnected() {
		return errNotConnected
	}
	if err := s.undoInterrupted(ctx); err != nil {
		return err
	}
	if err := s.load(ctx); err != nil {
		return fmt.Errorf("loading the cache: %w", err)
	}
	s.started = true
	s.spawn(s.follow)
	if s.expiries != nil {
		s.spawn(s.expiries.run)
	}
	// A watch that begins before the next write needs no history. etcd's synchronization of
	// watches that need history runs only every 100 ms.
	select {
	case <-s.watchStarted:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if s.opts.CompactionInterval > 0 {
		s.spawn(s.compactPeriodically)
	}
	if s.opts.CheckInterval > 0 {
		s.spawn(s.checkPeriodically)
	}
	return nil
}

// firstWritten is the revision of the first write to an etcd. No read can have returned an
// earlier one.
const firstWritten = 2

// EndBootstrap is called after the server's bootstrap writes and before it serves clients.
// From now on watches can start from the first revision that a client can have read, that of one
// of these writes. kube-apiserver's watch caches do not reach back further either.
func (s *Store) EndBootstrap() { s.oldestWatch.Store(firstWritten) }

// Close ends all watches and goroutines and stops the embedded etcd.
func (s *Store) Close() error {
	s.closed.Do(func() {
		s.cancel() // first, because the holder of applyMu may be waiting for etcd
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

// Client returns the connection to etcd that the store uses.
func (s *Store) Client() *clientv3.Client { return s.client }

// Err returns a channel that receives an error when the embedded etcd has failed for good.
// The store is then unusable and should be closed.
func (s *Store) Err() <-chan error { return s.fatalErrors }

// spawn runs f in a goroutine that Close waits for. After Close it runs f synchronously; f
// returns soon then, because s.ctx is done.
func (s *Store) spawn(f func()) {
	if !s.hold() {
		f()
		return
	}
	go func() {
		recovery.RestartOnPanic(s.ctx, s.log, "storage", f)
		s.wg.Done()
	}()
}

// hold makes Close wait for a call of s.wg.Done. It returns false after Close.
func (s *Store) hold() bool {
	s.spawnMu.Lock()
	defer s.spawnMu.Unlock()
	if !s.ended {
		s.wg.Add(1)
	}
	return !s.ended
}

func (s *Store) reportFatal(err error) {
	select {
	case s.fatalErrors <- err:
	default:
	}
}

// awaitServerStop reports an embedded etcd that stops on its own.
func (s *Store) awaitServerStop() {
	select {
	case <-s.ctx.Done():
	case <-s.embedded.server.StopNotify():
		s.reportFatal(errors.New("etcd has stopped"))
	}
}

// readError converts an error of a read by the function readError, but returns ErrClosed
// after Close.
func (s *Store) readError(err error) error {
	if err != nil && s.ctx.Err() != nil {
		return ErrClosed
	}
	return readError(err)
}
