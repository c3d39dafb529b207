package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/internal/safefile"
	"github.com/miniapiserver/miniapiserver/storage"
)

// openStore creates the store, which connectStore connects later. Other parts can be built
// on its caches before that. If a start that fails leaves nothing behind, the connection is
// made in the background already while they are built.
func (p *builder) openStore() error {
	for _, file := range []struct{ flag, path string }{
		{"etcd-cafile", p.o.Etcd.CAFile}, {"etcd-certfile", p.o.Etcd.CertFile}, {"etcd-keyfile", p.o.Etcd.KeyFile},
	} {
		if file.path == "" {
			continue
		}
		if err := configfile.Check(file.path); err != nil { // at once, whether etcd answers or not
			return fileError(file.flag, file.path, err)
		}
	}
	p.etcdCalls = storage.NewCallMetrics()
	options := p.etcdOptions(p.o.Etcd.Servers)
	options.Dir, options.Ephemeral, options.Progress = p.etcdDir(), p.ephemeral, p.waiting.progress
	options.NoSync, options.Quiet = p.o.Etcd.UnsafeNoFsync, p.o.oneOfMany
	options.SnapshotFile, options.QuotaBytes = p.o.Etcd.Snapshot, p.o.Etcd.QuotaBytes
	if p.o.forkOf != nil {
		options.ForkOf = p.o.forkOf.store
	}
	p.store = storage.NewStore(options)
	p.atEnd(p.closeStores)
	if p.ephemeral || len(p.o.Etcd.Servers) > 0 {
		connecting := make(chan error, 1)
		p.wg.Go(func() {
			if err := recovery.Call(p.logger, "connecting to etcd", func() { connecting <- p.connectWithRetries(p.lifetime) }); err != nil {
				connecting <- err
			}
		})
		p.connecting = connecting
	}
	return nil
}

// closeStores closes all stores, and then the encryption of their values.
func (p *builder) closeStores(context.Context) error {
	var errs []error
	for _, store := range p.allStores() {
		if err := store.Close(); err != nil {
			errs = append(errs, fmt.Errorf("closing the store: %w", err))
		}
	}
	if p.encryption != nil {
		errs = append(errs, p.encryption.Close())
	}
	return errors.Join(errs...)
}

// etcdDir returns the directory of the embedded etcd.
func (p *builder) etcdDir() string { return filepath.Join(p.o.Dir, "etcd") }

// cacheCheckInterval is the minimum interval at which caches are compared with etcd, as in kube-apiserver.
const cacheCheckInterval = 5 * time.Minute

// etcdOptions returns the options that the stores of all etcds have in common.
func (p *builder) etcdOptions(servers []string) storage.Options {
	var checks time.Duration
	if gates, err := p.o.gates(); err == nil && gates.Enabled(features.DetectCacheInconsistency) { // an error ends the start elsewhere
		checks = cacheCheckInterval
	}
	return storage.Options{
		CheckInterval:      checks,
		Servers:            servers,
		CAFile:             p.o.Etcd.CAFile,
		CertFile:           p.o.Etcd.CertFile,
		KeyFile:            p.o.Etcd.KeyFile,
		Prefix:             p.o.Etcd.Prefix,
		CompactionInterval: p.o.compactionInterval(),
		Clock:              p.clock,
		Logger:             p.logger,
		Tracer:             p.tracer(),
		Calls:              p.etcdCalls,
	}
}

// connectPause is the time between two attempts to connect to etcd.
const connectPause = 200 * time.Millisecond

// connectStore returns when the embedded etcd runs, or another one is connected.
func (p *builder) connectStore(ctx context.Context) error {
	if len(p.o.Etcd.Servers) > 0 {
		p.waiting.begin("etcd at " + strings.Join(p.o.Etcd.Servers, ","))
	}
	if p.connecting == nil {
		return p.connectWithRetries(ctx)
	}
	select {
	case err := <-p.connecting:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// connectWithRetries starts the embedded etcd, or connects to another one within
// --storage-initialization-timeout.
func (p *builder) connectWithRetries(ctx context.Context) error {
	err := p.connect(ctx, p.store)
	var snapshot *storage.SnapshotError
	var inFile *storage.TLSFileError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &inFile):
		return p.tlsFileError(inFile)
	case errors.As(err, &snapshot):
		return fmt.Errorf("--etcd-snapshot: %w", err)
	case len(p.o.Etcd.Servers) == 0:
		return fmt.Errorf("--data-dir: %w", err)
	}
	return fmt.Errorf("--etcd-servers: %w", err)
}

// tlsFileError returns an error about a file of the flags for TLS connections to etcd.
func (p *builder) tlsFileError(err *storage.TLSFileError) error {
	flag := "etcd-certfile"
	switch err.File {
	case p.o.Etcd.CAFile:
		flag = "etcd-cafile"
	case p.o.Etcd.KeyFile:
		flag = "etcd-keyfile"
	}
	return fileError(flag, err.File, err)
}

// connect connects a store, and retries while the etcd of another process does not answer.
func (p *builder) connect(ctx context.Context, store *storage.Store) error {
	ctx, cancel := context.WithTimeout(ctx, p.o.Etcd.InitializationTimeout)
	defer cancel()
	for {
		err := store.Connect(ctx)
		if err == nil || !errors.Is(err, storage.ErrNoAnswer) {
			return err
		}
		if ctx.Err() == nil {
			p.logger.Warn("etcd does not answer, retrying", "error", err)
		}
		if pause(ctx, connectPause); ctx.Err() != nil {
			return err
		}
	}
}

// snapshotName is the form of the names of snapshots, whose order is that of their times.
const snapshotName = "20060102T150405Z.db"

// saveSnapshots saves a snapshot of etcd after each --snapshot-interval.
func (p *builder) saveSnapshots(context.Context) error {
	if p.o.Etcd.SnapshotInterval > 0 {
		p.runEvery("saving a snapshot", p.o.Etcd.SnapshotInterval, func(ctx context.Context) error {
			return p.saveSnapshot(ctx, time.Now())
		})
	}
	return nil
}

// saveSnapshot saves a snapshot in the directory snapshots of --data-dir, and removes the oldest ones beyond
// --snapshot-keep.
func (p *builder) saveSnapshot(ctx context.Context, now time.Time) error {
	dir := filepath.Join(p.o.Dir, "snapshots")
	if err := safefile.MakeDir(dir, 0o700); err != nil {
		return err
	}
	o := p.etcdOptions(p.o.Etcd.Servers)
	if len(o.Servers) == 0 {
		o.Dir = p.etcdDir()
	}
	file := filepath.Join(dir, now.UTC().Format(snapshotName))
	size, err := storage.SaveSnapshot(ctx, o, file)
	if err != nil {
		return err
	}
	p.logger.Info("saved a snapshot", "file", file, "bytes", size)
	return removeOldSnapshots(dir, p.o.Etcd.SnapshotKeep)
}

// removeOldSnapshots removes all but the newest snapshots in a directory. Other files stay.
func removeOldSnapshots(dir string, keep int) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	names := []string{}
	for _, e := range entries {
		if _, err := time.Parse(snapshotName, e.Name()); err == nil {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	var errs []error
	for _, name := range names[:max(len(names)-keep, 0)] {
		errs = append(errs, os.Remove(filepath.Join(dir, name)))
	}
	return errors.Join(errs...)
}

func (o *Options) checkSnapshotInterval() error {
	switch {
	case o.Etcd.SnapshotInterval == 0:
		return nil
	case o.Etcd.SnapshotInterval < time.Second:
		return fmt.Errorf("%v is below 1s", o.Etcd.SnapshotInterval)
	case o.Ephemeral() || o.NoDataDir:
		return errors.New("needs --data-dir, because snapshots are kept there")
	}
	return nil
}
