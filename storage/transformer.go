package storage

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/monotonic"
)

// Values are decrypted when an item is made, so that the caches hold what Decode reads, and
// encrypted for each write. A value that cannot be decrypted is a corrupt item until
// DecryptAgain succeeds, because the reason may pass: a key management service that does not
// answer, or a key that is missing in the configuration.

// Transformer encrypts and decrypts the values of a collection. The key is that in etcd: a value
// that was moved to another key need not be readable.
type Transformer interface {
	// Encrypt returns the value to store. It may be value itself.
	Encrypt(ctx context.Context, key string, value []byte) ([]byte, error)
	// Decrypt returns the value of a stored one, and whether it is stale: to be stored again
	// by a write that does not change it. The value may share memory with stored.
	Decrypt(ctx context.Context, key string, stored []byte) (value []byte, isStale bool, err error)
}

// ErrNotDecrypted is kube-apiserver's error for an encrypted value in a server that encrypts
// nothing, and encryptedPrefix is how such values begin.
var ErrNotDecrypted = errors.New("identity transformer tried to read encrypted data")

const encryptedPrefix = "k8s:enc:"

// newItem returns the item of a stored value.
func (c *Collection) newItem(config *itemConfig, key string, rev int64, stored []byte) *Item {
	i := &Item{config: config, key: key, rev: rev, value: stored}
	if config.Transformer == nil {
		return i
	}
	value, _, err := config.Transformer.Decrypt(c.store.ctx, c.prefix+key, stored)
	if err != nil {
		i.health.Store(i.corruptError(err, true))
		c.undecryptable.log(c, i, err)
		return i
	}
	i.value = value
	return i
}

// DecryptAgain decrypts again the values that could not be decrypted. It is called when they
// may be readable. If some are, the watches of their collections end, because the changes in
// between cannot be delivered.
func (s *Store) DecryptAgain() {
	s.applyMu.Lock()
	defer s.applyMu.Unlock()
	for _, c := range s.routes {
		c.decryptAgain()
	}
}

// decryptAgain is DecryptAgain for a collection; Store.applyMu is held.
func (c *Collection) decryptAgain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	config := c.config()
	if c.working == nil || config.Transformer == nil {
		return
	}
	readable := map[string]*Item{}
	retry := func(key string, i *Item) bool {
		if h := i.knownCorrupt(); h != nil && h.Encrypted {
			if again := c.newItem(config, key, i.rev, i.value); again.knownCorrupt() == nil {
				readable[key] = again
			}
		}
		return true
	}
	for _, t := range []*itemTree{c.working.corrupt, c.working.undecoded} {
		if t != nil {
			t.Scan(retry)
		}
	}
	if len(readable) == 0 {
		return
	}
	c.store.log.Info("stored objects can be decrypted again", "prefix", c.prefix, "objects", len(readable))
	c.rebuild(config, func(i *Item) *Item {
		if again := readable[i.key]; again != nil {
			return again
		}
		return i
	})
}

// rebuild replaces the items of the current state and drops everything that refers to the former
// ones; c.mu is held.
func (c *Collection) rebuild(config *itemConfig, replace func(*Item) *Item) {
	fresh := newCollectionState(len(config.Index))
	c.working.items.Scan(func(_ string, i *Item) bool {
		fresh.appendLoaded(replace(i))
		return true
	})
	fresh.finishLoad()
	fresh.rev = c.working.rev
	c.working = fresh
	c.noteSize()
	c.window.reset(fresh.rev)
	c.cachedStates = nil
	c.handoff.reset()
	c.fanout.end(nil)
	c.current.Store(fresh.copy())
}

// failureLog logs values that cannot be decrypted, at most one in each period, because a missing
// key concerns all values of a collection.
type failureLog struct{ last, count atomic.Int64 }

const failureLogPeriod = 10 * time.Second

func (l *failureLog) log(c *Collection, i *Item, err error) {
	count, now, last := l.count.Add(1), monotonic.Now(), l.last.Load()
	if last != 0 && now-last < int64(failureLogPeriod) || !l.last.CompareAndSwap(last, now) {
		return
	}
	c.store.log.Error("stored object cannot be decrypted", "key", c.prefix+i.key, "revision", i.rev, "failures", count, "error", err)
}

// isEncrypted reports whether a value is one that another server encrypted.
func isEncrypted(value []byte) bool { return bytes.HasPrefix(value, []byte(encryptedPrefix)) }
