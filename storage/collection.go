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
)

// Collection is the keys of one resource: reads of it come from its cache,
// writes go to etcd.
type Collection struct {
	store  *Store
	prefix string // of its keys in etcd, with the slash
	oldest int64  // CollectionConfig.Oldest

	// settings are what its items share. Who asks twice may get two answers.
	settings atomic.Pointer[kind]

	// current is what reads read. It is published before the store's applied
	// revision is, and complete up to the larger of that and its own.
	current atomic.Pointer[state]

	handoff handoff
	written atomic.Int64 // the newest revision that a write through this store made
	closed  atomic.Bool
	extend  sync.Mutex // held while history is read from etcd

	mu      sync.Mutex // guards what follows
	working *state     // what changes are applied to
	window  window
	fanout  fanout
	kept    []keptState
	ended   error    // why there are no more watches
	loading bool     // changes go to pending, until the cache is loaded
	pending []change // that came meanwhile
}

// change is an event of etcd for a key of the collection.
type change struct {
	key string
	kv  *mvccpb.Event
}

// Collection registers a collection. Before Start it costs nothing; after it
// the collection is loaded on its own, and is ready when Collection returns.
func (s *Store) Collection(cfg CollectionConfig) (*Collection, error) {
	cfg.Prefix = strings.Trim(cfg.Prefix, "/")
	if cfg.Prefix == "" || cfg.Encode == nil || cfg.Decode == nil {
		return nil, errors.New("storage: a collection needs a prefix, Encode and Decode")
	}
	c := &Collection{store: s, prefix: s.opts.Prefix + "/" + cfg.Prefix + "/", oldest: cfg.Oldest}
	c.settings.Store(&kind{CollectionConfig: cfg, path: c.prefix, onError: c.badValue})
	c.window = window{span: s.opts.CompactionInterval, limit: s.opts.WindowBytes}
	if c.window.span == 0 {
		c.window.span = 5 * time.Minute
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
	if !s.started {
		return c, nil
	}
	c.loading = true
	s.applyMu.Unlock() // others need not wait
	err := c.load()
	s.applyMu.Lock()
	if err != nil {
		delete(s.routes, cfg.Prefix)
		return nil, fmt.Errorf("loading %s: %w", cfg.Prefix, err)
	}
	return c, nil
}

// Loaded reports whether the cache of the collection can be read.
func (c *Collection) Loaded() bool { return c.current.Load() != nil }

// load fills the cache of a collection that was added to a running store.
// Changes that come meanwhile wait, and are applied on top if they are newer
// than what was read.
func (c *Collection) load() error {
	fresh := newState(len(c.kind().Index))
	rev, err := c.store.scan(c.store.ctx, c.prefix, 0, func(kv *mvccpb.KeyValue) {
		fresh.load(c.item(string(kv.Key[len(c.prefix):]), kv))
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
	// The whole cache may have been loaded again meanwhile.
	if st := c.current.Load(); st == nil || st.rev < rev {
		c.install(fresh, rev)
	}
	c.apply(pending)
	return nil
}

// Close ends the watches of the collection and forgets it; what is in etcd
// stays. It is for custom resources that are taken away.
func (c *Collection) Close() {
	c.store.applyMu.Lock()
	defer c.store.applyMu.Unlock()
	if c.store.routes[c.kind().Prefix] == c {
		delete(c.store.routes, c.kind().Prefix)
	}
	c.closed.Store(true)
	c.endWatches(ErrClosed)
}

// Removed is a collection that was closed: whatever is asked of it fails with
// ErrClosed.
func (s *Store) Removed() *Collection {
	c := &Collection{store: s}
	c.settings.Store(&kind{onError: c.badValue})
	c.closed.Store(true)
	c.ended = ErrClosed
	return c
}

func (c *Collection) kind() *kind { return c.settings.Load() }

// Reconfigure has objects encoded, decoded and indexed in another way from now
// on; the prefix stays. What was made of items is forgotten, and watches end, for
// what they showed was made in the old way. Reads and writes go on meanwhile.
func (c *Collection) Reconfigure(cfg CollectionConfig) {
	c.store.applyMu.Lock()
	defer c.store.applyMu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	cfg.Prefix = c.kind().Prefix
	k := &kind{CollectionConfig: cfg, path: c.prefix, onError: c.badValue}
	c.settings.Store(k)
	if c.working == nil {
		return
	}
	fresh := newState(len(cfg.Index))
	c.working.items.Scan(func(_ string, i *Item) bool {
		fresh.load(&Item{of: k, key: i.key, rev: i.rev, value: i.value})
		return true
	})
	fresh.loaded()
	fresh.rev = c.working.rev
	c.working = fresh
	c.window.reset(fresh.rev)
	c.kept = nil
	c.handoff.reset()
	c.fanout.end(nil)
	c.current.Store(fresh.copy())
}

// noteWritten notes the revision that a write made, if it made one.
func (c *Collection) noteWritten(rev int64) {
	for {
		old := c.written.Load()
		if rev <= old || c.written.CompareAndSwap(old, rev) {
			return
		}
	}
}

func (c *Collection) badValue(i *Item, err error) {
	c.store.log.Error("a stored object cannot be read", "key", c.fullKey(i.key), "revision", i.rev, "error", err)
}

func (c *Collection) item(key string, kv *mvccpb.KeyValue) *Item {
	return &Item{of: c.kind(), key: key, rev: kv.ModRevision, value: kv.Value}
}

// reuse returns the item that the cache has if it is that of kv.
func (c *Collection) reuse(key string, kv *mvccpb.KeyValue) *Item {
	if st := c.current.Load(); st != nil {
		if i, ok := st.items.Get(key); ok && i.rev == kv.ModRevision && bytes.Equal(i.value, kv.Value) {
			return i
		}
	}
	return c.item(key, kv)
}

// Size is how many objects there are, and the bytes of their values, as far as
// the cache knows.
func (c *Collection) Size() (objects int, bytes int64) {
	if st := c.current.Load(); st != nil {
		return st.items.Len(), st.bytes
	}
	return 0, 0
}

// State tells one content of the cache from another: it is equal to what it was
// as long as nothing changed. It is what is made from all objects is kept by.
func (c *Collection) State() any { return c.current.Load() }

// install makes st, which was read at rev, the content of the cache. Watchers
// of what was there before end, for nobody knows what they missed.
func (c *Collection) install(st *state, rev int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.working != nil {
		c.fanout.end(&CompactedError{Wanted: c.working.rev, Compacted: rev})
	}
	st.loaded()
	st.rev = rev
	c.working = st
	c.window.reset(rev)
	c.kept = nil
	c.handoff.reset()
	c.current.Store(st.copy())
}

// apply takes changes into the cache, in their order: into the tree, the
// window and the queues of the watchers they concern. Then they are published
// together.
func (c *Collection) apply(batch []change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loading {
		c.pending = append(c.pending, batch...)
		return
	}
	now := c.store.opts.Now()
	changed := false
	for _, ch := range batch {
		if ch.kv.Kv.ModRevision <= c.working.rev {
			continue // it was in what was loaded
		}
		if t := c.transition(ch); t != nil {
			changed = true
			c.window.add(t, now)
			c.fanout.deliver(t)
		}
	}
	if !changed {
		return
	}
	c.working.rev = batch[len(batch)-1].kv.Kv.ModRevision
	c.window.trim(now)
	c.current.Store(c.working.copy())
}

func (c *Collection) transition(ch change) *transition {
	rev := ch.kv.Kv.ModRevision
	if ch.kv.Type == mvccpb.Event_DELETE {
		prev := c.working.remove(ch.key)
		if prev == nil {
			return nil
		}
		item := c.handoff.take(ch.key, rev, func([]*write) *Item { return prev.at(rev) })
		return &transition{rev: rev, item: item, prev: prev, deleted: true}
	}
	item := c.handoff.take(ch.key, rev, func(underway []*write) *Item {
		for _, w := range underway {
			if !w.remove && bytes.Equal(w.value, ch.kv.Kv.Value) {
				return w.item(c.kind(), ch.key, rev)
			}
		}
		return c.item(ch.key, ch.kv.Kv)
	})
	return &transition{rev: rev, item: item, prev: c.working.set(item)}
}
