package storage

import (
	"bytes"
	"context"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// NewLocal returns a store whose objects are in the memory of the process and in no etcd, for objects that end with the
// process. It needs no Connect and no Start. Its collections read, write and watch as those of any store do, but for the
// past: it has no states and no changes from before their windows.
//
// Its revisions begin with the time in microseconds, so that a client which knows one of an earlier process gets an error that
// says that it is too old, and lists again.
func NewLocal(o Options) *Store {
	s := NewStore(o)
	s.local, s.started = &localLog{}, true
	s.applied.advance(s.opts.Now().UnixMicro())
	return s
}

// localLog takes the place of etcd in a local store. Its lock makes the writes one after the other.
type localLog struct{ mu sync.Mutex }

// loadLocal begins an empty collection.
func (c *Collection) loadLocal() {
	start := time.Now()
	c.replaceState(newCollectionState(len(c.config().Index)), c.store.applied.rev.Load())
	c.metrics.initialized(start)
}

// transactLocal executes w. It returns the revision that it created, or 0 and the current value if the key is not at the
// expected revision. Fences and leases are of etcd; kinds of a local store have none.
func (s *Store) transactLocal(_ context.Context, w *keyWrite) (int64, *mvccpb.KeyValue, error) {
	s.local.mu.Lock()
	defer s.local.mu.Unlock()
	s.applyMu.Lock()
	c, key := s.route([]byte(w.key))
	s.applyMu.Unlock()
	if c == nil {
		return 0, nil, ErrRemoved
	}
	current := c.localValue(key)
	if (current == nil && w.expectedRev != 0) || (current != nil && current.ModRevision != w.expectedRev) {
		return 0, current, nil
	}
	kind, value := mvccpb.Event_PUT, w.stored
	if w.op == opDelete {
		kind, value = mvccpb.Event_DELETE, nil
	}
	rev := s.applied.rev.Load() + 1
	s.apply([]*mvccpb.Event{{Type: kind, Kv: &mvccpb.KeyValue{Key: []byte(w.key), Value: value, ModRevision: rev}}})
	return rev, nil, nil
}

// localValue returns the value of a key, or nil.
func (c *Collection) localValue(key string) *mvccpb.KeyValue {
	if item, ok := c.current.Load().items.Get(key); ok {
		return &mvccpb.KeyValue{Key: []byte(c.prefix + key), Value: item.value, ModRevision: item.rev}
	}
	return nil
}

// LocalChange is a change of a key by ApplyLocal: the value becomes that of the key, and nil deletes the key.
type LocalChange struct {
	Key   string
	Value []byte
}

// ApplyLocal writes to a collection of a local store without conditions, each change at a revision of its own. It is for
// objects that the process itself makes, many at a time; their values must be decodable.
func (c *Collection) ApplyLocal(changes []LocalChange) {
	s := c.store
	s.local.mu.Lock()
	defer s.local.mu.Unlock()
	rev := s.applied.rev.Load()
	batch := make([]keyEvent, len(changes))
	for n := range changes {
		kind := mvccpb.Event_PUT
		if changes[n].Value == nil {
			kind = mvccpb.Event_DELETE
		}
		batch[n] = keyEvent{key: changes[n].Key, kv: &mvccpb.Event{Type: kind, Kv: &mvccpb.KeyValue{
			Value: changes[n].Value, ModRevision: rev + int64(n) + 1}}}
	}
	s.applyMu.Lock()
	defer s.applyMu.Unlock()
	c.apply(batch)
	s.applied.advance(rev + int64(len(changes)))
}

// verifyLocal is verifyCurrent of a local store.
func (c *Collection) verifyLocal(old *Item) (*Item, error) {
	current := c.localValue(old.key)
	if current == nil || current.ModRevision != old.rev || !bytes.Equal(current.Value, old.value) {
		return nil, c.conflictError(old.key, current)
	}
	return old, nil
}

// errNoPast returns the error of a read of a state that a local store no longer has.
func (c *Collection) errNoPast(rev int64) error {
	return &CompactedError{Wanted: rev, Compacted: c.store.applied.rev.Load()}
}
