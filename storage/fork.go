package storage

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ErrNotEmbedded means that a store has no embedded etcd, whose database could be copied.
var ErrNotEmbedded = errors.New("the server has no embedded etcd")

// CanFork reports whether another store can begin with the content of this one (Options.ForkOf).
func (s *Store) CanFork() bool { return s.isConnected() && s.embedded != nil }

// copyDatabase writes the database of the embedded etcd, with its history, as that of an etcd in dir, which has none. Writes go
// on meanwhile. The copy includes every write that was acknowledged before the call.
func (s *Store) copyDatabase(dir string) (err error) {
	if !s.CanFork() {
		return ErrNotEmbedded
	}
	if !s.hold() { // the database is closed with the store
		return ErrClosed
	}
	defer s.wg.Done()
	snapshot := s.embedded.server.Backend().Snapshot()
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	file, err := os.OpenFile(filepath.Join(dir, "member", "snap", "db"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = snapshot.WriteTo(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("copying the database: %w", err)
	}
	return resetDatabase(file.Name())
}

// WriteSnapshot writes the database of the embedded etcd, with its history, in the format of "etcdctl snapshot save".
func (s *Store) WriteSnapshot(w io.Writer) (err error) {
	if !s.CanFork() {
		return ErrNotEmbedded
	}
	if !s.hold() {
		return ErrClosed
	}
	defer s.wg.Done()
	snapshot := s.embedded.server.Backend().Snapshot()
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	sum := sha256.New()
	if _, err := snapshot.WriteTo(io.MultiWriter(w, sum)); err != nil {
		return fmt.Errorf("writing a snapshot: %w", err)
	}
	_, err = w.Write(sum.Sum(nil))
	return err
}
