package storage

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
)

// embedded is an etcd server of one member inside this process. It listens
// nowhere.
type embedded struct {
	dir       string
	ephemeral bool
	lock      *os.File
	etcd      *embed.Etcd
	server    *etcdserver.EtcdServer // of etcd
	kv        pb.KVServer            // of server
	client    *clientv3.Client
	acked     acked
}

// startEmbedded starts the server and returns when it leads. What it tells of
// goes to fatal when it cannot go on.
func startEmbedded(ctx context.Context, o *Options, fatal func(error)) (e *embedded, err error) {
	e = &embedded{dir: o.Dir, ephemeral: o.Ephemeral}
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
	if err := os.MkdirAll(e.dir, 0o700); err != nil {
		e.ephemeral = false // nothing to remove
		return e, fmt.Errorf("making the data directory: %w", err)
	}
	if e.lock, err = lockDir(e.dir); err != nil {
		e.ephemeral = false // it is not ours
		return e, err
	}
	if o.SnapshotFile != "" {
		if err := restoreSnapshot(o.SnapshotFile, e.dir); err != nil {
			return e, err
		}
	}
	l := &launch{failed: make(chan error, 1), fatal: fatal}
	defer l.over.Store(true)
	if e.etcd, err = l.server(embedConfig(e.dir, o, newZap(o.Logger, l.onFatal, l.onPanic))); err != nil {
		return e, fmt.Errorf("starting etcd in %s: %w", e.dir, err)
	}
	e.server = e.etcd.Server
	e.kv = v3rpc.NewQuotaKVServer(e.server)
	e.client = v3client.New(e.server)
	e.client.KV = notingKV{e.client.KV, &e.acked}
	e.client.Lease = notingLease{e.client.Lease, &e.acked}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case err := <-l.failed:
			cancel(err)
		case <-ctx.Done():
		}
	}()
	if err := e.elect(ctx); err != nil {
		return e, fmt.Errorf("starting etcd in %s: %w", e.dir, err)
	}
	return e, nil
}

// embedConfig is etcd's defaults but for: no listeners, fewer log entries kept
// in memory for followers that there are none of, and a larger quota. Clients
// and peers are told an address nobody listens on.
func embedConfig(dir string, o *Options, logger *zap.Logger) *embed.Config {
	nowhere := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	c := embed.NewConfig()
	c.Dir = dir
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger)
	c.ListenClientUrls, c.ListenPeerUrls = nil, nil
	c.AdvertiseClientUrls, c.AdvertisePeerUrls = nowhere, nowhere
	c.InitialCluster = c.Name + "=" + nowhere[0].String()
	c.SnapshotCount, c.SnapshotCatchUpEntries = 1000, 1000
	c.QuotaBackendBytes = o.QuotaBytes
	c.UnsafeNoFsync = o.Ephemeral
	// What takes long on a loaded machine is not worth a warning each time.
	c.WarningApplyDuration, c.WarningUnaryRequestDuration = time.Second, time.Second
	return c
}

// elect makes the only member lead now, and returns when it has applied all
// that was ever acknowledged. It is made to lead by the message with which a
// leader hands over, rather than after an election timeout. That is ignored
// until the member's own configuration is applied, so it is sent again.
func (e *embedded) elect(ctx context.Context) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	id := uint64(e.server.MemberID())
	for calm := 0; e.server.Lead() == 0; calm++ {
		if !e.replayed() {
			calm = -1
		} else if calm >= e.calm() {
			message := &raftpb.Message{Type: raftpb.MsgTimeoutNow.Enum(), To: &id, From: &id}
			if err := e.server.Process(ctx, message); err != nil {
				return err
			}
		}
		if err := wait(ctx, e, tick.C); err != nil {
			return err
		}
	}
	// What was acknowledged before a crash is in the log, but not known to be
	// committed until something is committed in the new term; and a leader
	// that is alone answers reads without waiting for that. Ready means that
	// the first entry of the term is applied.
	return wait(ctx, e, e.server.ReadyNotify())
}

// replayed tells whether what the log says is committed is applied.
func (e *embedded) replayed() bool {
	applied := e.server.AppliedIndex()
	return applied > 0 && applied == e.server.CommittedIndex()
}

// calm is for how many milliseconds nothing must have been applied before the
// member may be made to lead. After about 100 entries etcd drops the oldest
// ones from memory, a moment before raft takes note that they were applied; an
// election in between would look for them and panic.
func (e *embedded) calm() int {
	if e.server.CommittedIndex() < 100 {
		return 0
	}
	return 25
}

// wait waits for c, and no longer than for the end of ctx or of the server.
func wait[T any](ctx context.Context, e *embedded, c <-chan T) error {
	select {
	case <-c:
		return nil
	case <-e.server.StopNotify():
		return errors.New("etcd stopped, see the log")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// revision is not older than that of any write that was acknowledged. The
// server's own would do as well, but to ask for it waits for etcd's disk.
func (e *embedded) revision() (int64, error) {
	select {
	case <-e.server.StopNotify():
		return 0, fmt.Errorf("%w: it has stopped", ErrUnavailable)
	default:
		return e.acked.rev.Load(), nil
	}
}

// tidy gives space back to the file system when most of the database is free,
// or when the quota is reached. Nothing else happens meanwhile, so it is for
// large ones only. When there is room again, writes are allowed again.
func (e *embedded) tidy(ctx context.Context, quota int64) error {
	const least = 128 << 20
	b, full := e.server.Backend(), len(e.server.Alarms()) > 0
	if full || b.Size() > least && b.SizeInUse() < b.Size()/3 {
		if err := b.Defrag(); err != nil {
			return fmt.Errorf("defragmenting etcd: %w", err)
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

func (e *embedded) close() error {
	var errs []error
	if e.client != nil {
		// The in-process client says on closing that its context was cancelled.
		if err := e.client.Close(); err != nil && !errors.Is(err, context.Canceled) {
			errs = append(errs, err)
		}
	}
	if e.etcd != nil {
		e.etcd.Close()
	}
	if e.lock != nil {
		errs = append(errs, e.lock.Close())
	}
	if e.ephemeral {
		errs = append(errs, os.RemoveAll(filepath.Clean(e.dir)))
	}
	return errors.Join(errs...)
}
