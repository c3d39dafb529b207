package storage

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
)

// SnapshotError says why a data directory cannot be made of an etcd snapshot.
type SnapshotError struct {
	File string
	Err  error
}

// Error implements error.
func (e *SnapshotError) Error() string { return e.File + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *SnapshotError) Unwrap() error { return e.Err }

// restoreSnapshot makes the database of a data directory that has none out of a
// file that "etcdctl snapshot save" wrote, compressed with gzip or not. All or
// nothing: the database gets its name when it is complete. etcd removes files
// that begin with tmp when it starts.
func restoreSnapshot(file, dir string) error {
	fail := func(err error) error { return &SnapshotError{file, err} }
	for _, name := range []string{"member/wal", "member/snap/db"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			return fail(errors.Join(fmt.Errorf("the data directory %s holds data already, a snapshot is read into a new one", dir), err))
		}
	}
	snap := filepath.Join(dir, "member", "snap")
	if err := os.MkdirAll(snap, 0o700); err != nil {
		return fail(err)
	}
	temp := filepath.Join(snap, "tmp-restore.db")
	err := copySnapshot(file, temp)
	if err == nil {
		err = resetDatabase(temp)
	}
	if err == nil {
		err = os.Rename(temp, filepath.Join(snap, "db"))
	}
	if err != nil {
		_ = os.Remove(temp) // the first error is the one to tell of
		return fail(err)
	}
	return nil
}

// copySnapshot writes the database that a snapshot holds to a new file, and
// checks it by the SHA-256 that follows it.
func copySnapshot(file, to string) error {
	in, err := os.Open(file)
	if err != nil {
		return errors.Unwrap(err) // which names the file, as the caller does
	}
	defer in.Close()
	data, err := uncompressed(in)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	size, err := io.Copy(out, data)
	if err != nil {
		return fmt.Errorf("reading it: %w", err)
	}
	const page = 512 // databases are multiples of it
	if size < sha256.Size || size%page != sha256.Size {
		return errors.New("it is no etcd snapshot, or not a whole one: there is no checksum at its end")
	}
	sum := make([]byte, sha256.Size)
	if _, err := out.ReadAt(sum, size-sha256.Size); err != nil {
		return err
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(out, 0, size-sha256.Size)); err != nil {
		return err
	}
	if !bytes.Equal(hash.Sum(nil), sum) {
		return errors.New("it is no etcd snapshot, or a damaged one: its checksum does not fit")
	}
	return out.Truncate(size - sha256.Size)
}

// uncompressed reads f, through gzip if that is how it begins.
func uncompressed(f io.Reader) (io.Reader, error) {
	b := bufio.NewReader(f)
	if magic, err := b.Peek(2); err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return b, nil // what is too short is found out later
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, fmt.Errorf("reading it: %w", err)
	}
	return z, nil
}

// resetDatabase takes from a database all that is about the cluster which it
// was taken from and not about its keys: who its members were, how far its log
// was applied, alarms, and that its users have to authenticate.
func resetDatabase(file string) error {
	db, err := bolt.Open(file, 0o600, &bolt.Options{Timeout: time.Second})
	if err != nil {
		return fmt.Errorf("opening the database in it: %w", err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		if tx.Bucket([]byte("key")) == nil {
			return errors.New("the database in it is not etcd's")
		}
		for _, name := range []string{"members", "members_removed", "cluster", "alarm"} {
			if err := emptyBucket(tx, []byte(name)); err != nil {
				return err
			}
		}
		if meta := tx.Bucket([]byte("meta")); meta != nil {
			for _, key := range []string{"consistent_index", "term", "confState"} {
				if err := meta.Delete([]byte(key)); err != nil {
					return err
				}
			}
		}
		if auth := tx.Bucket([]byte("auth")); auth != nil {
			return auth.Put([]byte("authEnabled"), []byte{0})
		}
		return nil
	})
	return errors.Join(err, db.Close())
}

func emptyBucket(tx *bolt.Tx, name []byte) error {
	if tx.Bucket(name) == nil {
		return nil
	}
	if err := tx.DeleteBucket(name); err != nil {
		return err
	}
	_, err := tx.CreateBucket(name)
	return err
}
