package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/safefile"
	"github.com/miniapiserver/miniapiserver/storage"
)

// snapshotName is the form of the names of snapshots, whose order is that of their times.
const snapshotName = "20060102T150405Z.db"

// saveSnapshots saves a snapshot of etcd after each --snapshot-interval.
func (p *parts) saveSnapshots(context.Context) error {
	if p.o.SnapshotInterval > 0 {
		p.runEvery("saving a snapshot", p.o.SnapshotInterval, func(ctx context.Context) error {
			return p.saveSnapshot(ctx, time.Now())
		})
	}
	return nil
}

// saveSnapshot saves a snapshot in the directory snapshots of --data-dir, and removes the oldest ones beyond
// --snapshot-keep.
func (s *Server) saveSnapshot(ctx context.Context, now time.Time) error {
	dir := filepath.Join(s.o.Dir, "snapshots")
	if err := safefile.MakeDir(dir, 0o700); err != nil {
		return err
	}
	o := s.etcdOptions(s.o.EtcdServers)
	if len(o.Servers) == 0 {
		o.Dir = s.etcdDir()
	}
	file := filepath.Join(dir, now.UTC().Format(snapshotName))
	size, err := storage.SaveSnapshot(ctx, o, file)
	if err != nil {
		return err
	}
	s.logger.Info("saved a snapshot", "file", file, "bytes", size)
	return removeOldSnapshots(dir, s.o.SnapshotKeep)
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
	case o.SnapshotInterval == 0:
		return nil
	case o.SnapshotInterval < time.Second:
		return fmt.Errorf("%v is below 1s", o.SnapshotInterval)
	case o.Ephemeral() || o.NoDataDir:
		return errors.New("needs --data-dir, because snapshots are kept there")
	}
	return nil
}
