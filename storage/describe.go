package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
)

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
