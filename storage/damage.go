package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// A DamageError says that a file of the data directory cannot be used.
type DamageError struct {
	File  string // or a directory
	Cause error
}

// Error implements error.
func (e *DamageError) Error() string {
	return fmt.Sprintf("%s: %v; restore a backup with miniapiserver snapshot restore FILE --data-dir NEW", e.File, e.Cause)
}

// Unwrap returns the cause.
func (e *DamageError) Unwrap() error { return e.Cause }

// checkData looks at the files of an etcd in dir before etcd does: etcd waits forever where its log has lost what
// its database has, begins a new log where there is none, and crashes on a damaged page. The check changes nothing.
// A directory without files passes.
func checkData(dir string) error {
	database, logs := filepath.Join(dir, "member", "snap", "db"), filepath.Join(dir, "member", "wal")
	segments, err := filepath.Glob(filepath.Join(logs, "*.wal"))
	if err != nil {
		return err
	}
	slices.Sort(segments)
	hasDatabase, err := hasFile(database)
	if err != nil {
		return err
	}
	var last uint64 // without a log, as after the restore of a snapshot, no entry is applied
	if len(segments) > 0 {
		if last, err = lastLogIndex(segments); err != nil {
			return err
		}
	}
	if !hasDatabase {
		// The log rebuilds the database if it goes back to the beginning.
		if len(segments) > 0 {
			if first, _, err := segmentName(segments[0]); err != nil || first > 0 {
				return &DamageError{database, errors.New("the database is missing")}
			}
		}
		return nil
	}
	applied, err := checkDatabase(database)
	if err == nil && applied > last {
		return &DamageError{logs, fmt.Errorf("the write-ahead log ends at entry %d, but the database has entry %d: a part of the log is lost",
			last, applied)}
	}
	return err
}

// hasFile reports whether a file exists and is not empty.
func hasFile(path string) (bool, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, &DamageError{path, errors.New("not a regular file")}
	}
	return info.Size() > 0, nil
}

// segmentName returns what the name of a file of the log says: its number, and the index of its first entry.
func segmentName(path string) (number, index uint64, err error) {
	if _, err = fmt.Sscanf(filepath.Base(path), "%016x-%016x.wal", &number, &index); err != nil {
		err = &DamageError{path, errors.New("not a name of a write-ahead log")}
	}
	return number, index, err
}

// lastLogIndex returns the index of the last entry in the log. It reads the last segment; etcd verifies the others.
func lastLogIndex(segments []string) (uint64, error) {
	var last uint64
	for i, path := range segments {
		number, index, err := segmentName(path)
		if err != nil {
			return 0, err
		}
		if before, _, _ := segmentName(segments[max(i-1, 0)]); i > 0 && number != before+1 {
			return 0, &DamageError{path, fmt.Errorf("the segment of the write-ahead log before it is missing, number %d", number-1)}
		}
		last = max(index, 1) - 1
	}
	path := segments[len(segments)-1]
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return 0, &DamageError{path, errors.Join(errors.New("not a regular file"), err)}
	}
	decoder, records := wal.NewDecoder(fileutil.NewFileReader(f)), 0
	for ; ; records++ {
		var record walpb.Record
		err := decoder.Decode(&record)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // a crash cuts the last record, which nobody was told of
			break
		}
		if err != nil {
			return 0, &DamageError{path, err}
		}
		switch record.GetType() {
		case wal.CrcType:
			decoder.UpdateCRC(record.GetCrc())
		case wal.EntryType:
			var entry raftpb.Entry
			if err := proto.Unmarshal(record.Data, &entry); err != nil {
				return 0, &DamageError{path, err}
			}
			last = entry.GetIndex()
		}
	}
	if records == 0 {
		return 0, &DamageError{path, errors.New("the write-ahead log is empty or damaged")}
	}
	return last, nil
}

// checkDatabase reads all keys of etcd's database, as etcd will, and returns the index of the last log entry that it has.
// A page that cannot be used panics in bbolt, here and not in a goroutine of etcd.
func checkDatabase(path string) (applied uint64, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = &DamageError{path, fmt.Errorf("the database is damaged: %v", p)}
		}
	}()
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second, ReadOnly: true})
	if err != nil {
		return 0, &DamageError{path, fmt.Errorf("the database cannot be opened: %w", err)}
	}
	defer db.Close()
	err = db.View(func(tx *bolt.Tx) error {
		if info, err := os.Stat(path); err != nil || info.Size() < tx.Size() {
			return errors.Join(fmt.Errorf("the database is cut: it has %d of %d bytes", info.Size(), tx.Size()), err)
		}
		return tx.ForEach(func(name []byte, bucket *bolt.Bucket) error {
			var before []byte
			return bucket.ForEach(func(key, value []byte) error {
				if before != nil && bytes.Compare(before, key) >= 0 {
					return fmt.Errorf("the database is damaged: keys of %q are not in order", name)
				}
				before = key
				if string(name) == "meta" && string(key) == "consistent_index" && len(value) == 8 {
					applied = binary.BigEndian.Uint64(value)
				}
				return nil
			})
		})
	})
	if err != nil {
		return 0, &DamageError{path, err}
	}
	return applied, nil
}
