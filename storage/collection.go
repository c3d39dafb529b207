package storage

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/internal/monotonic"
)

// Collection is the keys of one resource. Reads come from its cache, writes go to etcd.
type Collection struct {
	store       *Store
	prefix      string // of its keys in etcd, with a trailing slash
	oldestWatch int64  // CollectionConfig.Oldest

	// settings is the configuration that its items share. Reconfigure replaces it, so a
	// function loads it once.
	settings atomic.Pointer[itemConfig]

	// current is the published state, from which reads are served. It is published before
	// the store's applied revision, and is complete up to the larger of that and its own
	// revision.
	current atomic.Pointer[collectionState]

	// lag is the late view of the parts of the server that follow the collection; nil if they are not late.
	lag atomic.Pointer[View]

	metrics *collectionMetrics
	handoff handoff
	written newestRevision // the newest revision that a write through this store created
	closed  atomic.Bool
	// undecryptable logs values that cannot be decrypted.
	undecryptable failureLog
	historyMu     sync.Mutex // held while history is read from etcd

	mu           sync.Mutex       // guards the fields below
	working      *collectionState // the state to which changes are applied
	window       changeWindow
	fanout       watcherFanout
	cachedStates []cachedState
	ended        error      // why no watch can start; nil if watches can
	loading      bool       // while it is set, apply adds changes to pending
	pending      []keyEvent // arrived while loading
}

// keyEvent is an etcd event of a key in the collection.
type keyEvent struct {
	key string
	kv  *mvccpb.Event
}

// maxWindowSpan is the maximum age of the changes in a window. Watches from before it read the history of etcd.
const maxWindowSpan = 5 * time.Minute

// Collection adds a collection. After Start it also loads the collection's cache before it
// returns.
func (s *Store) Collection(cfg CollectionConfig) (*Collection, error) {
	cfg.Prefix = strings.Trim(cfg.Prefix, "/")
	if cfg.Prefix == "" || cfg.Encode == nil || cfg.Decode == nil {
		return nil, errors.New("storage: a collection needs a prefix, Encode and Decode")
	}
	c := &Collection{store: s, prefix: s.opts.Prefix + "/" + cfg.Prefix + "/", oldestWatch: cfg.Oldest}
	c.settings.Store(&itemConfig{CollectionConfig: cfg, path: c.prefix, onError: c.logUndecodable})
	c.window = changeWindow{span: s.opts.CompactionInterval, limit: s.opts.WindowBytes}
	if c.window.span == 0 || c.window.span > maxWindowSpan {
		c.window.span = maxWindowSpan
	}
	s.applyMu.Lock()
	defer s.applyMu.Unlock()
	if s.ctx.Err() != nil {
		return nil, ErrClosed
	}
	if s.routes[cfg.Prefix] != nil {
		return nil, fmt.Errorf("storage: collection %s is there already", cfg.Prefix)
	}
	s.routes[cfg.Prefix] = c
	c.metrics = s.metrics.collection(cfg.Group, cfg.Resource)
	s.metrics.add(c)
	if !s.started {
		return c, nil
	}
	if s.local != nil {
		c.loadLocal()
		return c, nil
	}
	c.loading = true
	s.applyMu.Unlock() // loading may take long
	err := c.load()
	s.applyMu.Lock()
	if err != nil {
		delete(s.routes, cfg.Prefix)
		s.metrics.remove(c)
		return nil, fmt.Errorf("loading %s: %w", cfg.Prefix, err)
	}
	return c, nil
}

// Loaded reports whether the cache of the collection can be read.
func (c *Collection) Loaded() bool { return c.current.Load() != nil }

// load fills the cache of a collection that was added to a running store. Changes that
// arrive during the load are applied afterwards if they are newer than the loaded state.
func (c *Collection) load() error {
	start := time.Now()
	fresh := newCollectionState(len(c.config().Index))
	rev, err := c.store.scan(c.store.ctx, c.prefix, 0, false, func(kv *mvccpb.KeyValue) {
		fresh.appendLoaded(c.item(string(kv.Key[len(c.prefix):]), kv))
	})
	if err != nil {
		return err
	}
	c.store.applyMu.Lock()
	defer c.store.applyMu.Unlock()
	c.mu.Lock()
	pending := c.pending
	c.loading, c.pending = false, nil
	c.mu.Unlock()
	// Store.reload may have loaded the collection already, at a later revision.
	if st := c.current.Load(); st == nil || st.rev < rev {
		c.replaceState(fresh, rev)
		c.metrics.initialized(start)
	}
	c.apply(pending)
	c.decryptAgain() // the reasons why values could not be decrypted may have passed meanwhile
	return nil
}

// Close ends the watches of the collection and removes it from the store. Its keys stay in
// etcd. It is used when a custom resource definition is deleted.
func (c *Collection) Close() {
	c.store.applyMu.Lock()
	defer c.store.applyMu.Unlock()
	if c.store.routes[c.config().Prefix] == c {
		delete(c.store.routes, c.config().Prefix)
		c.store.metrics.remove(c)
	}
	c.closed.Store(true)
	c.endWatches(ErrRemoved)
}

// closedError returns the error of all methods after the store or the collection was closed.
func (c *Collection) closedError() error {
	if c.store.ctx.Err() != nil {
		return ErrClosed
	}
	return ErrRemoved
}

// ClosedCollection returns a closed collection: all its methods return ErrRemoved.
func (s *Store) ClosedCollection() *Collection {
	c := &Collection{store: s, metrics: newStoreMetrics(s).collection("", "")}
	c.settings.Store(&itemConfig{onError: c.logUndecodable})
	c.closed.Store(true)
	c.ended = ErrRemoved
	return c
}

func (c *Collection) config() *itemConfig { return c.settings.Load() }

// Reconfigure replaces the functions that encode, decode and index the objects; the prefix
// stays. It drops everything cached with the items and ends all watches, because their
// events were encoded by the old configuration. Reads and writes continue.
func (c *Collection) Reconfigure(cfg CollectionConfig) {
	c.store.applyMu.Lock()
	defer c.store.applyMu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	cfg.Prefix = c.config().Prefix
	k := &itemConfig{CollectionConfig: cfg, path: c.prefix, onError: c.logUndecodable}
	c.settings.Store(k)
	if c.working == nil {
		return
	}
	c.rebuild(k, func(i *Item) *Item {
		if h := i.knownCorrupt(); h != nil && h.Encrypted {
			return c.newItem(k, i.key, i.rev, i.value)
		}
		return &Item{config: k, key: i.key, rev: i.rev, value: i.value}
	})
}

// RestartWatches ends all watches without an error, so that clients begin others.
func (c *Collection) RestartWatches() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fanout.end(nil)
}

func (c *Collection) logUndecodable(i *Item, err error) {
	c.metrics.store.corrupt.WithLabelValues(c.metrics.group, c.metrics.resource).Inc()
	c.store.log.Error("stored object cannot be decoded", "key", c.prefix+i.key, "revision", i.rev, "error", err)
}

func (c *Collection) item(key string, kv *mvccpb.KeyValue) *Item {
	return c.newItem(c.config(), key, kv.ModRevision, kv.Value)
}

// cachedOrNewItem returns the cached item of the key if it has the revision and value of kv,
// else a new item.
func (c *Collection) cachedOrNewItem(key string, kv *mvccpb.KeyValue) *Item {
	item := c.item(key, kv)
	if st := c.current.Load(); st != nil {
		if i, ok := st.items.Get(key); ok && i.rev == item.rev && bytes.Equal(i.value, item.value) {
			return i
		}
	}
	return item
}

// GroupResource returns the resource whose keys the collection has.
func (c *Collection) GroupResource() schema.GroupResource {
	config := c.config()
	return schema.GroupResource{Group: config.Group, Resource: config.Resource}
}

// Size returns the number of objects in the cache and the total size of their values.
func (c *Collection) Size() (objects int, bytes int64) {
	if st := c.current.Load(); st != nil {
		return st.items.Len(), st.bytes
	}
	return 0, 0
}

// IsEmpty reports whether the collection certainly has no objects: the cache has none, and it has
// applied all writes that were acknowledged through this store before the call.
func (c *Collection) IsEmpty() bool {
	if c.written.rev.Load() > c.store.applied.rev.Load() {
		return false
	}
	st := c.current.Load() // last: a state that is loaded now has all changes up to the applied revision
	return st != nil && st.items.Len() == 0
}

// LooksEmpty is IsEmpty for the parts of the server that follow the collection, which see it late if it lags.
func (c *Collection) LooksEmpty() bool {
	if !c.lag.Load().isLate() {
		return c.IsEmpty()
	}
	st := c.followed()
	return st != nil && st.items.Len() == 0
}

// State returns a comparable value that changes whenever the content of the cache does, as reads with Match
// Followed see it. Data derived from the whole collection is cached by it.
func (c *Collection) State() any { return c.followed() }

// replaceState replaces the content of the cache by st, which was read at rev. It ends all
// watches, because the changes between the two states are unknown.
func (c *Collection) replaceState(st *collectionState, rev int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.working != nil {
		c.fanout.end(&CompactedError{Wanted: c.working.rev, Compacted: rev})
	}
	st.finishLoad()
	st.rev = rev
	c.working = st
	c.noteSize()
	c.window.reset(rev)
	c.cachedStates = nil
	c.handoff.reset()
	c.current.Store(st.copy())
}

// noteSize decides which encodings the items keep, by the size of the collection; c.mu is held. A collection that has become
// large is so until it has half of that size.
func (c *Collection) noteSize() {
	config, size := c.config(), c.working.bytes
	switch wasLarge := config.isLarge.Load(); {
	case !wasLarge && size > keptBytes:
		config.isLarge.Store(true)
		c.working.items.Scan(func(_ string, i *Item) bool {
			i.dropLarge()
			return true
		})
	case wasLarge && size < keptBytes/2:
		config.isLarge.Store(false)
	}
}

// apply applies changes in their order to the tree and the window, publishes the new state, and
// then queues the changes for the watchers that they concern. The state comes first, because a
// reader that acts on an event must not find an older state: a controller would take the object
// of a new key for a deleted one.
func (c *Collection) apply(batch []keyEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loading {
		c.pending = append(c.pending, batch...)
		return
	}
	events := c.metrics.events()
	events.received.Add(float64(len(batch)))
	events.cacheReceived.Add(float64(len(batch)))
	now, received := c.store.opts.Now(), monotonic.Now()
	var few [8]*transition
	changes := few[:0]
	for _, ch := range batch {
		if ch.kv.Kv.ModRevision <= c.working.rev {
			continue // it was part of the loaded state
		}
		if t := c.transition(ch); t != nil {
			t.received = received
			changes = append(changes, t)
			c.window.add(t, now)
			c.store.expiries.note(c, ch)
		}
	}
	if len(changes) == 0 {
		return
	}
	events.dispatched.Add(float64(len(changes)))
	c.working.rev = batch[len(batch)-1].kv.Kv.ModRevision
	c.window.trim(now)
	c.noteSize()
	c.current.Store(c.working.copy())
	for _, t := range changes {
		c.fanout.deliver(t)
	}
}

func (c *Collection) transition(ch keyEvent) *transition {
	rev := ch.kv.Kv.ModRevision
	if ch.kv.Type == mvccpb.Event_DELETE {
		prev := c.working.remove(ch.key)
		if prev == nil {
			return nil
		}
		item := c.handoff.take(ch.key, rev, func([]*keyWrite) *Item { return prev.atRevision(rev) })
		return &transition{rev: rev, item: item, prev: prev, deleted: true}
	}
	item := c.handoff.take(ch.key, rev, func(underway []*keyWrite) *Item {
		for _, w := range underway {
			if w.op != opDelete && bytes.Equal(w.stored, ch.kv.Kv.Value) {
				return w.item(c.config(), ch.key, rev)
			}
		}
		item := c.item(ch.key, ch.kv.Kv)
		if c.store.local != nil {
			item.health.Store(notCorrupt) // the process made it
		}
		return item
	})
	return &transition{rev: rev, item: item, prev: c.working.set(item)}
}
