package storage

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/internal/safefile"
)

// SnapshotError is a failure to restore an etcd snapshot into a data directory.
type SnapshotError struct {
	File string
	Err  error
}

// Error implements error.
func (e *SnapshotError) Error() string { return e.File + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *SnapshotError) Unwrap() error { return e.Err }

// restoreSnapshot creates the database of an empty data directory from a file that "etcdctl
// snapshot save" wrote, compressed with gzip or not. The database gets its final name when
// it is complete; etcd removes files that begin with tmp when it starts.
func restoreSnapshot(file, dir string, progress progressFunc) error {
	fail := func(err error) error { return &SnapshotError{file, err} }
	for _, name := range []string{"member/wal", "member/snap/db"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			return fail(errors.Join(fmt.Errorf("data directory %s is not empty, a snapshot can only be restored into a new one", dir), err))
		}
	}
	if err := makeMemberDirs(dir); err != nil {
		return fail(err)
	}
	temp, err := safefile.CreateTemp(filepath.Join(dir, "member", "snap", "db"), "tmp-restore-*.db")
	if err != nil {
		return fail(err)
	}
	defer temp.Discard()
	if err := copySnapshot(file, temp.File, progress); err != nil {
		return fail(err)
	}
	if err := resetDatabase(temp.Name()); err != nil {
		return fail(err)
	}
	if err := temp.Commit(0o600, true); err != nil {
		return fail(err)
	}
	return nil
}

// makeMemberDirs makes the directories of the database in the data directory of an etcd. It returns
// an error if other users may write in one of them.
func makeMemberDirs(dir string) error {
	member := filepath.Join(dir, "member")
	return cmp.Or(safefile.MakeDir(dir, 0o700), safefile.MakeDir(member, 0o700), safefile.MakeDir(filepath.Join(member, "snap"), 0o700))
}

// copySnapshot writes the database in a snapshot to an empty file and verifies the SHA-256 that
// follows the database.
func copySnapshot(file string, out *os.File, progress progressFunc) error {
	in, err := configfile.OpenRegular(file)
	if err != nil {
		return errors.Unwrap(err) // unwrapped, because the caller adds the file's name
	}
	defer in.Close()
	data, err := gunzipReader(in)
	if err != nil {
		return err
	}
	size, err := io.Copy(progress.counting(out, "restoring "+file, 0), data) // the total is unknown if it is compressed
	if err != nil {
		return fmt.Errorf("reading the snapshot: %w", err)
	}
	if err := verifyChecksum(out, size); err != nil {
		return err
	}
	return out.Truncate(size - sha256.Size)
}

// verifySnapshot verifies the checksum at the end of an uncompressed snapshot, and that its database can be
// opened.
func verifySnapshot(f *os.File, size int64) error {
	if err := verifyChecksum(f, size); err != nil {
		return err
	}
	return verifyDatabase(f.Name(), func(*bolt.Tx) error { return nil })
}

// verifyDatabase opens a database and calls read if it is one of etcd.
func verifyDatabase(file string, read func(*bolt.Tx) error) error {
	db, err := bolt.Open(file, 0o600, &bolt.Options{Timeout: time.Second, ReadOnly: true})
	if err != nil {
		return fmt.Errorf("opening the database in the snapshot: %w", err)
	}
	return errors.Join(db.View(func(tx *bolt.Tx) error {
		if err := checkEtcdDatabase(tx); err != nil {
			return err
		}
		return read(tx)
	}), db.Close())
}

// checkEtcdDatabase returns an error unless a database has the bucket with etcd's keys.
func checkEtcdDatabase(tx *bolt.Tx) error {
	if tx.Bucket([]byte("key")) == nil {
		return errors.New("the database in the snapshot is not etcd's")
	}
	return nil
}

// verifyChecksum verifies that a database is followed by its SHA-256.
func verifyChecksum(f io.ReaderAt, size int64) error {
	const page = 512 // the size of a database is a multiple of it
	if size < sha256.Size || size%page != sha256.Size {
		return errors.New("not an etcd snapshot, or an incomplete one: no checksum at its end")
	}
	sum := make([]byte, sha256.Size)
	if _, err := f.ReadAt(sum, size-sha256.Size); err != nil {
		return err
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(f, 0, size-sha256.Size)); err != nil {
		return err
	}
	if !bytes.Equal(hash.Sum(nil), sum) {
		return errors.New("not an etcd snapshot, or a damaged one: wrong checksum")
	}
	return nil
}

// gunzipReader returns a reader of f that decompresses it if it is in the gzip format.
func gunzipReader(f io.Reader) (io.Reader, error) {
	b := bufio.NewReader(f)
	if magic, err := b.Peek(2); err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return b, nil // copySnapshot rejects a file that is too short
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, fmt.Errorf("reading the snapshot: %w", err)
	}
	return z, nil
}

// resetDatabase removes from a database everything about the cluster from which the snapshot
// was taken: members, the applied index of the log, alarms, and the requirement that users
// authenticate. It keeps the keys.
func resetDatabase(file string) error {
	db, err := bolt.Open(file, 0o600, &bolt.Options{Timeout: time.Second})
	if err != nil {
		return fmt.Errorf("opening the database in the snapshot: %w", err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		if err := checkEtcdDatabase(tx); err != nil {
			return err
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

// SnapshotStatus describes a snapshot, as "etcdutl snapshot status" does.
type SnapshotStatus struct {
	Hash     uint32 // of the content
	Revision int64  // of the last write
	Keys     int    // that exist at Revision
	Size     int64  // of the database, in bytes
}

// DescribeSnapshot verifies a snapshot, compressed with gzip or not, and describes it.
func DescribeSnapshot(file string) (s SnapshotStatus, err error) {
	fail := func(err error) (SnapshotStatus, error) { return SnapshotStatus{}, &SnapshotError{file, err} }
	temp, err := os.CreateTemp("", "miniapiserver-snapshot-*.db")
	if err != nil {
		return fail(fmt.Errorf("unpacking the snapshot: %w", err))
	}
	defer func() { err = errors.Join(err, temp.Close(), os.Remove(temp.Name())) }()
	if err := copySnapshot(file, temp, nil); err != nil {
		return fail(err)
	}
	info, err := temp.Stat()
	if err != nil {
		return fail(err)
	}
	if err := verifyDatabase(temp.Name(), func(tx *bolt.Tx) (err error) {
		s, err = describeDatabase(tx)
		return err
	}); err != nil {
		return fail(err)
	}
	s.Size = info.Size()
	return s, nil
}

// describeDatabase reads all keys of a database.
func describeDatabase(tx *bolt.Tx) (s SnapshotStatus, err error) {
	hash := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	live := map[string]struct{}{}
	err = tx.ForEach(func(name []byte, bucket *bolt.Bucket) error {
		hash.Write(name) // hashes return no errors
		return bucket.ForEach(func(key, value []byte) error {
			hash.Write(key)
			hash.Write(value)
			if string(name) != "key" {
				return nil
			}
			// A key is a revision of 17 bytes, and one more for a deletion.
			var entry mvccpb.KeyValue
			if len(key) < 17 {
				return fmt.Errorf("the database has a key of %d bytes where revisions have 17", len(key))
			}
			if err := proto.Unmarshal(value, &entry); err != nil {
				return fmt.Errorf("the database has a value that is not etcd's: %w", err)
			}
			s.Revision = int64(binary.BigEndian.Uint64(key))
			if len(key) == 17 {
				live[string(entry.Key)] = struct{}{}
			} else {
				delete(live, string(entry.Key))
			}
			return nil
		})
	})
	s.Hash, s.Keys = hash.Sum32(), len(live)
	return s, err
}

// progressFunc is the function of Options.Progress.
type progressFunc func(what string, done, total int64)

// tell calls Progress with the work that begins now.
func (o *Options) tell(what string) {
	if o.Progress != nil {
		o.Progress(what, 0, 0)
	}
}

// counting returns a writer that tells how many of the total bytes were written to w.
func (p progressFunc) counting(w io.Writer, what string, total int64) io.Writer {
	if p == nil {
		return w
	}
	return &countingWriter{w: w, tell: func(done int64) { p(what, done, total) }}
}

type countingWriter struct {
	w    io.Writer
	done int64
	tell func(done int64)
}

// Write implements io.Writer.
func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.done += int64(n)
	c.tell(c.done)
	return n, err
}
