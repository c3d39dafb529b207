package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/prometheus/client_golang/prometheus"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// embeddedEtcd is an etcd server with one member inside this process. Its only listener is the
// socket for maintenance.
type embeddedEtcd struct {
	dir       string
	ephemeral bool
	lock      *os.File
	etcd      *embed.Etcd
	server    *etcdserver.EtcdServer // the server of etcd
	kv        pb.KVServer            // the KV service of server
	client    *clientv3.Client

	maintenance *maintenanceServer // nil if its socket cannot be made
	defrag      prometheus.Histogram
	// acked is the newest revision in any response. All requests go through one
	// clientv3.Client, so a consistent read can use it as the current revision instead of
	// asking etcd.
	acked newestRevision
	// failed is closed when etcd has met an error that it cannot recover from.
	failed chan struct{}
	fail   sync.Once // closes failed
	log    *slog.Logger
}

// startEmbedded starts the server and returns when it is the leader. It calls fatal with
// errors that the running server cannot recover from.
func startEmbedded(ctx context.Context, o *Options, defrag prometheus.Histogram, fatal func(error)) (e *embeddedEtcd, err error) {
	e = &embeddedEtcd{dir: o.Dir, ephemeral: o.Ephemeral, defrag: defrag, log: o.Logger, failed: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.close())
		}
	}()
	switch {
	case e.dir == "" && !e.ephemeral:
		return e, errors.New("no data directory for the embedded etcd")
	case e.dir == "":
		if e.dir, err = os.MkdirTemp("", "miniapiserver-etcd-"); err != nil {
			return e, fmt.Errorf("making a directory for etcd: %w", err)
		}
	}
	if err := makeMemberDirs(e.dir); err != nil {
		e.ephemeral = false // so that close removes no directory
		return e, fmt.Errorf("making the data directory: %w", err)
	}
	if e.lock, err = lockEtcdDir(e.dir); err != nil {
		e.ephemeral = false // so that close does not remove the other process's data
		return e, err
	}
	if o.SnapshotFile != "" {
		if err := restoreSnapshot(o.SnapshotFile, e.dir, o.Progress); err != nil {
			return e, err
		}
	}
	if o.ForkOf != nil {
		if err := o.ForkOf.copyDatabase(e.dir); err != nil {
			return e, err
		}
	}
	o.tell("reading the database in " + e.dir)
	if err := checkData(e.dir); err != nil {
		return e, err
	}
	o.tell("starting etcd, which replays its log in " + e.dir)
	l := &etcdLaunch{failed: make(chan error, 1), fatal: func(err error) {
		e.fail.Do(func() { close(e.failed) })
		fatal(err)
	}}
	defer l.done.Store(true)
	if e.etcd, err = l.start(embedConfig(e.dir, o, newZap(o.Logger, l.isStarting, l.onFatal, l.onPanic))); err != nil {
		return e, fmt.Errorf("starting etcd in %s: %w", e.dir, err)
	}
	e.server = e.etcd.Server
	e.kv = v3rpc.NewQuotaKVServer(e.server)
	e.client = v3client.New(e.server)
	e.client.KV = ackingKV{e.client.KV, &e.acked}
	e.client.Lease = ackingLease{e.client.Lease, &e.acked}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case err := <-l.failed:
			cancel(err)
		case <-ctx.Done():
		}
	}()
	if err := e.becomeLeader(ctx); err != nil {
		return e, fmt.Errorf("starting etcd in %s: %w", e.dir, err)
	}
	if e.maintenance, err = serveMaintenance(e, o.Logger); err != nil {
		o.Logger.Warn("etcd serves no maintenance API, so no snapshot can be saved while the server runs", "error", err)
	}
	return e, nil
}

// PrepareForMany makes the files of the logs of etcd 1 MiB long instead of 64 MiB, which etcd reserves two of on the disk,
// and has etcd look for watches that need history once a second, whether there are any or not, instead of ten times.
// It is for a process with many stores, and called before the first.
func PrepareForMany() {
	wal.SegmentSizeBytes = 1 << 20
	watchResyncPeriod = time.Second
}

// watchResyncPeriod is a variable of etcd that it does not export. The linker fails if etcd does not have it any more.
//
//go:linkname watchResyncPeriod go.etcd.io/etcd/server/v3/storage/mvcc.watchResyncPeriod
var watchResyncPeriod time.Duration

// embedConfig returns etcd's default configuration with no listeners, with fewer log entries
// in memory (there are no followers to send them to) and with the configured quota. The
// advertised URLs are required, but no one listens there.
func embedConfig(dir string, o *Options, logger *zap.Logger) *embed.Config {
	nowhere := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	c := embed.NewConfig()
	c.Dir = dir
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger)
	c.ListenClientUrls, c.ListenPeerUrls = nil, nil
	c.AdvertiseClientUrls, c.AdvertisePeerUrls = nowhere, nowhere
	c.InitialCluster = c.Name + "=" + nowhere[0].String()
	// etcd keeps the last entries of its log in memory, with the objects in them, for members that lag. There are none.
	c.SnapshotCount, c.SnapshotCatchUpEntries = 1000, 1
	// A start reads the whole log, in segments of 64 MB, although it needs no more than the entries after the last snapshot,
	// whose segments are never removed. One more segment has the entries after older snapshots.
	c.MaxWalFiles = 2
	c.QuotaBackendBytes = o.QuotaBytes
	c.UnsafeNoFsync = o.Ephemeral || o.NoSync
	if o.Quiet {
		// The only member needs no heartbeats, and its log has what is not committed to the database yet. etcd wants an
		// election to take five ticks, and gives no lease less than one and a half elections.
		c.TickMs, c.ElectionMs = 1000, 5000
		c.BackendBatchInterval = 5 * time.Second
	}
	// Slow requests are normal on a loaded machine, so only those above a second are logged.
	c.WarningApplyDuration, c.WarningUnaryRequestDuration = time.Second, time.Second
	return c
}

// becomeLeader makes the only member the leader and returns when it has applied every
// acknowledged write. It sends the message with which a leader transfers leadership, which
// saves the election timeout. etcd ignores the message until the member has applied its own
// configuration, so becomeLeader repeats it.
func (e *embeddedEtcd) becomeLeader(ctx context.Context) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	id := uint64(e.server.MemberID())
	for quietFor := 0; e.server.Lead() == 0; quietFor++ {
		if !e.replayed() {
			quietFor = -1
		} else if quietFor >= e.quietMillis() {
			message := &raftpb.Message{Type: raftpb.MsgTimeoutNow.Enum(), To: &id, From: &id}
			if err := e.server.Process(ctx, message); err != nil {
				return err
			}
		}
		if err := waitForServer(ctx, e, tick.C); err != nil {
			return err
		}
	}
	// After a crash the log holds acknowledged entries that are not known to be committed
	// until an entry of the new term is committed, and a single-member leader answers reads
	// without waiting for that. ReadyNotify fires when the first entry of the new term is
	// applied.
	return waitForServer(ctx, e, e.server.ReadyNotify())
}

// replayed reports whether all entries that the log marks as committed are applied.
func (e *embeddedEtcd) replayed() bool {
	applied := e.server.AppliedIndex()
	return applied > 0 && applied == e.server.CommittedIndex()
}

// quietMillis returns for how many milliseconds the applied index must be stable before
// becomeLeader makes the member the leader. After about 100 entries etcd drops the oldest ones
// from memory shortly before raft records that they were applied; an election in between would
// look for them and panic.
func (e *embeddedEtcd) quietMillis() int {
	if e.server.CommittedIndex() < 100 {
		return 0
	}
	return 25
}

// waitForServer waits for c, for the end of the server or for the end of ctx.
func waitForServer[T any](ctx context.Context, e *embeddedEtcd, c <-chan T) error {
	select {
	case <-c:
		return nil
	case <-e.server.StopNotify():
		return errors.New("etcd stopped, see the log")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// revision returns a revision that is at least that of every acknowledged write. It does not
// ask the server, whose read of the revision waits for the disk.
func (e *embeddedEtcd) revision() (int64, error) {
	select {
	case <-e.server.StopNotify():
		return 0, fmt.Errorf("%w: it has stopped", ErrUnavailable)
	default:
		return e.acked.rev.Load(), nil
	}
}

// defragment defragments the database if most of it is free or the quota is reached, and then
// disarms the quota alarm if there is enough space. Defragmentation blocks all requests, so
// small databases are left alone.
func (e *embeddedEtcd) defragment(ctx context.Context, quota int64) error {
	const minSize = 128 << 20
	b, full := e.server.Backend(), len(e.server.Alarms()) > 0
	if full || b.Size() > minSize && b.SizeInUse() < b.Size()/3 {
		if err := e.defragmentNow(); err != nil {
			return err
		}
	}
	if !full || b.Size() > quota/10*9 {
		return nil
	}
	if _, err := e.client.AlarmDisarm(ctx, &clientv3.AlarmMember{}); err != nil {
		return fmt.Errorf("ending etcd's alarm: %w", err)
	}
	return nil
}

// defragmentNow defragments the database.
func (e *embeddedEtcd) defragmentNow() error {
	start := time.Now()
	if err := e.server.Defragment(); err != nil {
		return fmt.Errorf("defragmenting etcd: %w", err)
	}
	e.defrag.Observe(time.Since(start).Seconds())
	return nil
}

// failedStopTimeout is the time in which etcd may stop after it has failed.
const failedStopTimeout = 3 * time.Second

// stop stops etcd. After a failure, such as a full disk, its parts may wait for each other for
// ever: one that failed has ended without an answer. stop then gives up, and leaves its goroutines to the
// end of the process.
func (e *embeddedEtcd) stop() error {
	stopped := make(chan struct{})
	go func() {
		_ = recovery.Call(e.log, "stopping etcd", e.etcd.Close)
		close(stopped)
	}()
	select {
	case <-stopped:
		return nil
	case <-e.failed:
	}
	select {
	case <-stopped:
		return nil
	case <-time.After(failedStopTimeout):
		return fmt.Errorf("etcd did not stop within %s of its failure", failedStopTimeout)
	}
}

func (e *embeddedEtcd) close() error {
	var errs []error
	if e.maintenance != nil {
		errs = append(errs, e.maintenance.close())
	}
	if e.client != nil {
		// The in-process client returns context.Canceled on Close.
		if err := e.client.Close(); err != nil && !errors.Is(err, context.Canceled) {
			errs = append(errs, err)
		}
	}
	if e.etcd != nil {
		errs = append(errs, e.stop())
	}
	if e.lock != nil {
		errs = append(errs, e.lock.Close())
	}
	if e.ephemeral {
		errs = append(errs, os.RemoveAll(filepath.Clean(e.dir)))
	}
	return errors.Join(errs...)
}
