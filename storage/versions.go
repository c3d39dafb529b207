package storage

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// The past of single keys is read as follows.
//
// While a key exists, its versions are read one after the other, each at the revision before the next: a lookup in etcd's index,
// whatever else was written. A deletion cannot be found so, because at a revision at which the key does not exist, etcd does not tell
// when it did. It is found in the revisions themselves: those of the embedded etcd in its database, from the newest to the
// oldest, which locks nothing; those of an external etcd by a watch of the past for deletions of this key. A watch would find all
// versions, but etcd reads all revisions since its start for it, and no write goes on meanwhile, which is why it is the last resort.

// Version is a revision of a key: a value that was written, or a deletion.
type Version struct {
	// Prefix is the collection (CollectionConfig.Prefix), and Key the key within it.
	Prefix, Key string
	Revision    int64
	// Item is the written value; nil for a deletion.
	Item *Item
	// Previous is the value before; nil if the key was created, and if that value was compacted.
	Previous         *Item
	Created, Deleted bool
	// Position counts the keys that the same transaction wrote, from 0, and Together is their number; 0 if it is unknown.
	Position, Together int
}

// HistoryOptions select versions. The zero value selects the newest ones.
type HistoryOptions struct {
	// Before and After select the versions with revisions between the two; 0 means no limit.
	Before, After int64
	// Limit is the maximum number of versions; 0 means 1000.
	Limit int
}

// Bounds of reading history. What is beyond them is missing in the result.
const (
	defaultVersions = 1000
	// maxHistoryBytes is the size of the values in a result. The last value may exceed it.
	maxHistoryBytes = 32 << 20
	// maxHistoryScan is the number of revisions in which deletions and recent changes are looked for.
	maxHistoryScan = 1 << 20
)

func (o HistoryOptions) withDefaults() HistoryOptions {
	if o.Limit <= 0 {
		o.Limit = defaultVersions
	}
	return o
}

// History returns the versions of a key, the newest first. It ends where etcd was compacted: the last version may be older than the
// compaction, because etcd keeps the values that existed then. A local store has no history.
func (c *Collection) History(ctx context.Context, key string, o HistoryOptions) ([]Version, error) {
	if err := c.readable(); err != nil || !c.store.HasHistory() {
		return nil, err
	}
	h := keyHistory{collection: c, key: key, full: c.prefix + key, o: o.withDefaults(), room: historyRoom{bytes: maxHistoryBytes}}
	h.room.versions = h.o.Limit
	err := h.read(ctx)
	if errors.As(err, new(*CompactedError)) {
		err = nil
	}
	if err == nil {
		err = c.store.notePositions(ctx, h.versions)
	}
	return h.versions, err
}

// HasHistory reports whether the store has states of the past. A local store has none.
func (s *Store) HasHistory() bool { return s.local == nil }

// readable returns an error if etcd cannot be read.
func (c *Collection) readable() error {
	if c.closed.Load() || c.store.ctx.Err() != nil {
		return c.closedError()
	}
	return c.store.readable()
}

func (s *Store) readable() error {
	switch {
	case s.ctx.Err() != nil:
		return ErrClosed
	case s.local == nil && !s.isConnected():
		return errors.Join(ErrUnavailable, errNotConnected)
	}
	return nil
}

// historyRoom is the room for more versions in a result.
type historyRoom struct{ versions, bytes int }

func (r *historyRoom) isFull() bool { return r.versions <= 0 || r.bytes <= 0 }

func (r *historyRoom) use(size int) { r.versions, r.bytes = r.versions-1, r.bytes-size }

// keyHistory reads the versions of a key.
type keyHistory struct {
	collection *Collection
	key, full  string
	o          HistoryOptions
	versions   []Version
	room       historyRoom
	// deletions are the revisions at which the key was deleted, in an external etcd; nil before they were read.
	deletions []int64
	// scanned is the number of revisions in which deletions were looked for.
	scanned int64
}

// read adds versions from the newest to the oldest.
func (h *keyHistory) read(ctx context.Context) error {
	if h.o.Before == 1 {
		return nil // no revision is older
	}
	rev := max(h.o.Before-1, 0)
	for {
		kv, current, err := h.collection.store.keyAt(ctx, h.full, rev)
		if err != nil {
			return err
		}
		v := Version{Prefix: h.collection.config().Prefix, Key: h.key}
		size := 0
		if kv != nil {
			v.Revision, v.Created, size = kv.ModRevision, kv.Version == 1, len(kv.Value)
			v.Item = h.collection.item(h.key, kv)
		} else {
			if rev == 0 {
				rev = current
			}
			if v.Revision, err = h.lastDeletion(ctx, rev); err != nil || v.Revision == 0 {
				return err
			}
			v.Deleted = true
		}
		if last := len(h.versions) - 1; last >= 0 && !h.versions[last].Created {
			h.versions[last].Previous = v.Item
		}
		if v.Revision <= h.o.After || h.room.isFull() {
			return nil
		}
		h.versions = append(h.versions, v)
		h.room.use(size)
		// Another step finds the value before the last version.
		if rev = v.Revision - 1; rev == 0 || v.Created && (h.room.isFull() || rev <= h.o.After) {
			return nil
		}
	}
}

// lastDeletion returns the newest revision up to rev at which the key was deleted; 0 if the history has none.
func (h *keyHistory) lastDeletion(ctx context.Context, rev int64) (int64, error) {
	s := h.collection.store
	oldest := max(h.o.After, rev-(maxHistoryScan-h.scanned))
	if s.embedded != nil {
		found := int64(0)
		err := s.scanBack(ctx, rev, max(oldest, s.firstRevision()), func(v storedVersion) bool {
			h.scanned++
			if v.isDeletion && string(v.key()) == h.full {
				found = v.revision
			}
			return found == 0
		})
		return found, err
	}
	if h.deletions == nil {
		var err error
		if h.deletions, err = s.deletionsOf(ctx, h.full, oldest, rev); err != nil {
			return 0, err
		}
	}
	i, ok := slices.BinarySearch(h.deletions, rev)
	switch {
	case ok:
		return rev, nil
	case i == 0:
		return 0, nil
	}
	return h.deletions[i-1], nil
}

// deletionsOf returns the revisions after from and up to to at which a key was deleted in an external etcd, in ascending order, as far as
// it has them.
func (s *Store) deletionsOf(ctx context.Context, full string, from, to int64) ([]int64, error) {
	for {
		found := []int64{}
		err := s.eventsBetween(ctx, full, from, to, func(e *clientv3.Event) {
			found = append(found, e.Kv.ModRevision)
		}, clientv3.WithFilterPut())
		var compacted *CompactedError
		if !errors.As(err, &compacted) {
			return found, err
		}
		if compacted.Compacted <= from {
			return nil, err
		}
		from = compacted.Compacted
	}
}

// keyAt reads a key at a revision; 0 means the current one. kv is nil if the key did not exist. current is the revision of etcd.
func (s *Store) keyAt(ctx context.Context, full string, rev int64) (kv *mvccpb.KeyValue, current int64, err error) {
	options := []clientv3.OpOption{clientv3.WithRev(rev)}
	if s.embedded != nil {
		options = append(options, clientv3.WithSerializable()) // its only member has every acknowledged write
	}
	resp, err := s.client.Get(ctx, full, options...)
	switch {
	case errors.Is(err, rpctypes.ErrFutureRev):
		return s.keyAt(ctx, full, 0)
	case errors.Is(err, rpctypes.ErrCompacted):
		return nil, 0, &CompactedError{Wanted: rev, Compacted: s.compacted.Load()}
	case err != nil && ctx.Err() != nil:
		return nil, 0, context.Cause(ctx)
	case err != nil:
		return nil, 0, s.readError(err)
	case len(resp.Kvs) == 0:
		return nil, resp.Header.Revision, nil
	}
	return resp.Kvs[0], resp.Header.Revision, nil
}

// notePositions sets the positions of created keys in their transactions: only creations of the start share one. It does nothing for an
// external etcd, in which that would cost as much as a list of all keys.
func (s *Store) notePositions(ctx context.Context, versions []Version) error {
	if s.embedded == nil {
		return nil
	}
	for i := range versions {
		v := &versions[i]
		if v.Together = 1; !v.Created {
			continue
		}
		full, together, fromEnd := s.opts.Prefix+"/"+v.Prefix+"/"+v.Key, 0, 0
		err := s.scanBack(ctx, v.Revision, v.Revision-1, func(other storedVersion) bool {
			if key := string(other.key()); strings.HasPrefix(key, s.opts.Prefix+"/") {
				if together++; key == full {
					fromEnd = together
				}
			}
			return true
		})
		if err != nil {
			return err
		}
		if fromEnd > 0 {
			v.Position, v.Together = together-fromEnd, together
		}
	}
	return nil
}
